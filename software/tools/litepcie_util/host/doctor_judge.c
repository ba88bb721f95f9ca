/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Draw the findings of the command doctor (doctor.h): which limits bind the rates, what costs
 * speed, and what the user can do about either.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor.h"
#include "litepcie_capability.h"

#define QEMU_VENDOR	0x1b36u	/* PCI vendor number of Red Hat, as QEMU's emulated bridges have */
/*
 * PCIe generation and number of lanes that a card is assumed to support if its config space cannot
 * be read.
 */
#define CARD_GEN	3u
#define CARD_LANES	8u
/*
 * If the MPS in use is below this number of bytes, the finding about it has the weight
 * DOCTOR_BINDS. From this number up to below LITEPCIE_LARGEST_PAYLOAD it has DOCTOR_NOTE.
 */
#define USUAL_MPS	256u
/*
 * doctor reports the deepest enabled idle state of the CPU if the CPU takes more microseconds than
 * this to leave that state. At full rate the card fills a ring of 2 MiB in some 300 us.
 */
#define SLOW_EXIT_US	10u
/*
 * If a rate does not reach its limit, and the stream RQ (the card's requests to the PCIe hard
 * block) stalls in more than this fraction of the clock cycles, doctor says that the host holds
 * back the card's requests. Fewer stalls may be those of the hard block itself.
 */
#define STALLED		0.02

__attribute__((format(printf, 4, 5)))
static struct doctor_finding *add(struct doctor *doctor, enum doctor_weight weight,
				  const char *key, const char *format, ...)
{
	struct doctor_finding *finding;
	va_list args;

	if (doctor->findings == DOCTOR_FINDINGS)
		return &doctor->finding[DOCTOR_FINDINGS - 1];
	finding = &doctor->finding[doctor->findings++];
	*finding = (struct doctor_finding) { .weight = weight, .key = key };
	va_start(args, format);
	vsnprintf(finding->what, sizeof(finding->what), format, args);
	va_end(args);
	return finding;
}

__attribute__((format(printf, 2, 3)))
static void lift(struct doctor_finding *finding, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(finding->lift, sizeof(finding->lift), format, args);
	va_end(args);
}

/* Which limit binds --------------------------------------------------------------------------- */

/* Returns true if the rate of c2h, h2c or duplex has reached a limit whose cause is @limit. */
static bool reached(const struct doctor *doctor, enum limit_binds limit)
{
	for (int way = 0; way < RATES_WAYS; way++) {
		const struct rate *rate = &doctor->rates.rate[way];

		if (rate->valid && rates_binds(rate) == limit)
			return true;
	}
	return false;
}

static double c2h_limit(const struct limit_link *link)
{
	return limit_of(LIMIT_C2H, link, link->mps).value;
}

/*
 * Returns the fastest link that the card can have: by the card's own link capabilities if they can
 * be read, otherwise CARD_GEN with CARD_LANES. A card built for four lanes loses nothing in a slot
 * of four lanes.
 */
static struct limit_link possible(const struct doctor *doctor)
{
	const struct pci_express *card = &doctor->host.path[0].express;
	struct limit_link link = doctor->rates.link;

	link.gen = CARD_GEN;
	link.lanes = CARD_LANES;
	if (doctor->host.steps && card->known && card->lanes_possible) {
		link.gen = card->gen_possible;
		link.lanes = card->lanes_possible;
	}
	return link;
}

/*
 * Returns true if the port @step has the vendor number of QEMU's emulated bridges. No TLP passes
 * through an emulated port, so its MPS and its link limit no rate.
 */
static bool emulated(const struct pci_function *step)
{
	return step->vendor == QEMU_VENDOR;
}

/*
 * Returns the PCI function on the card's path that supports fewer lanes or a lower generation of
 * the link than the card, and is not emulated. If several do, it is the one nearest to the root
 * port. Returns NULL if none does.
 */
static const struct pci_function *narrowest(const struct doctor *doctor)
{
	const struct limit_link whole = possible(doctor);
	const struct pci_function *found = NULL;

	for (unsigned int i = 0; i < doctor->host.steps; i++) {
		const struct pci_express *e = &doctor->host.path[i].express;

		if (e->known && e->lanes_possible && !emulated(&doctor->host.path[i]) &&
		    (e->gen_possible < whole.gen || e->lanes_possible < whole.lanes))
			found = &doctor->host.path[i];
	}
	return found;
}

static void judge_link(struct doctor *doctor)
{
	const struct limit_link *link = &doctor->rates.link;
	const struct limit_link whole = possible(doctor);
	const struct pci_function *narrow = narrowest(doctor);
	struct doctor_finding *finding;

	if (link->gen >= whole.gen && link->lanes >= whole.lanes)
		return;
	finding = add(doctor, DOCTOR_BINDS, "link", "the link is Gen%u x%u, and the card can do "
		      "Gen%u x%u: c2h gets at most %.2f GB/s in place of %.2f", link->gen,
		      link->lanes, whole.gen, whole.lanes, c2h_limit(link), c2h_limit(&whole));
	if (narrow)
		lift(finding, "%s can do Gen%u x%u only: use another slot",
		     narrow->address, narrow->express.gen_possible,
		     narrow->express.lanes_possible);
	else
		lift(finding, "use a slot with all lanes, seat the card again, look for bifurcation "
		     "or a speed limit in the firmware's set-up");
}

static const struct pci_function *smallest_payload(const struct doctor *doctor)
{
	const struct pci_function *found = NULL;

	for (unsigned int i = 1; i < doctor->host.steps; i++) {
		const struct pci_function *step = &doctor->host.path[i];

		if (step->express.known && !emulated(step) && (!found || step->express.mps_supported <
						      found->express.mps_supported))
			found = step;
	}
	return found;
}

static void judge_payload(struct doctor *doctor)
{
	const struct pci_function *small = smallest_payload(doctor);
	struct limit_link larger = doctor->rates.link;
	struct doctor_finding *finding;
	unsigned int mps = larger.mps;

	if (mps >= LITEPCIE_LARGEST_PAYLOAD)
		return;
	larger.mps = mps < USUAL_MPS ? USUAL_MPS : LITEPCIE_LARGEST_PAYLOAD;
	finding = add(doctor, mps < USUAL_MPS ? DOCTOR_BINDS : DOCTOR_NOTE, "mps",
		      "the maximum payload (MPS) is %u bytes: c2h gets at most %.2f GB/s, with %u "
		      "bytes %.2f", mps, c2h_limit(&doctor->rates.link), larger.mps,
		      c2h_limit(&larger));
	if (small && small->express.mps_supported <= mps)
		lift(finding, "%s above the card supports no more than %u: use another slot",
		     small->address, small->express.mps_supported);
	else if (strcmp(doctor->card.target, "sim") == 0)
		lift(finding, "start the board with MPS=%u", larger.mps);
	else
		lift(finding, "boot with pci=pcie_bus_perf, which sets the most that every function "
		     "on the path supports");
}

static void judge_reads(struct doctor *doctor)
{
	const struct rates *rates = &doctor->rates;
	struct doctor_finding *finding;

	if (!reached(doctor, LIMIT_BY_READS))
		return;
	finding = add(doctor, DOCTOR_BINDS, "reads", "host memory answers a read after %.0f ns, and "
		      "the card has %.0f bytes of reads in flight: h2c gets at most %.2f GB/s",
		      rates->reads.rtt_ns, rates->reads.in_flight,
		      rates->rate[RATES_H2C].limit.value);
	if ((double)rates->tags * rates->link.mrrs <= rates->reads.in_flight)
		lift(finding, "raise MRRS (setpci, or pci=pcie_bus_perf), or shorten the way: a slot "
		     "at the CPU, no Thunderbolt, no IOMMU translation");
	else
		lift(finding, "shorten the way: a slot at the CPU, no Thunderbolt, no IOMMU "
		     "translation; the DMA itself keeps to so many bytes");
}

/* Returns the limit that h2c would have if every completion had MPS bytes of payload. */
static struct limit whole_completions(const struct rates *rates)
{
	struct limit_reads whole = rates->reads;

	whole.completion = rates->link.mps;
	return limit_of_h2c(&rates->link, &whole);
}

/*
 * Add a finding if the measured completions are no longer than the read completion boundary (RCB),
 * and the RCB is smaller than MPS: the host then cuts them at each RCB. If no rate of h2c was
 * measured, and the card is a PCI function of this machine, the finding is only a note that the
 * host may cut them so.
 */
static void judge_completions(struct doctor *doctor)
{
	const struct rates *rates = &doctor->rates;
	const struct rate *h2c = &rates->rate[RATES_H2C];
	struct limit_reads cut = rates->reads;
	struct doctor_finding *finding;

	cut.completion = cut.rcb;
	if (!h2c->valid && doctor->host.steps && cut.rcb < rates->link.mps)
		add(doctor, DOCTOR_NOTE, "rcb", "the read completion boundary is %u bytes: if the "
		    "host cuts its answers there, h2c gets at most %.2f GB/s in place of %.2f",
		    cut.rcb, limit_of_h2c(&rates->link, &cut).value,
		    whole_completions(rates).value);
	if (!h2c->valid || rates->reads.completion > cut.rcb || cut.rcb >= rates->link.mps)
		return;
	finding = add(doctor, DOCTOR_BINDS, "rcb", "the host cuts its answers to reads at each read "
		      "completion boundary, of %u bytes: h2c gets at most %.2f GB/s, with pieces "
		      "of %u bytes %.2f", cut.rcb, h2c->limit.value, rates->link.mps,
		      whole_completions(rates).value);
	lift(finding, "a slot at the CPU, whose root port may answer in larger pieces; the boundary "
	     "itself is the root port's");
}

/*
 * Add a finding for the first rate of c2h, h2c and duplex that was measured and has not reached its
 * limit: then the card waits for the host or the software.
 */
static void judge_host(struct doctor *doctor)
{
	for (int way = 0; way < RATES_WAYS; way++) {
		const struct rate *rate = &doctor->rates.rate[way];
		double stalled = rate->cycles ? (double)rate->rq_stalls / (double)rate->cycles : 0;
		struct doctor_finding *finding;

		if (!rate->valid || rates_binds(rate) != LIMIT_BY_HOST)
			continue;
		finding = add(doctor, DOCTOR_BINDS, "host", "%s reaches %.2f of %.2f GB/s, and no "
			      "limit of the link or the card: %s (the hard block took nothing in "
			      "%.0f %% of all cycles)", rate->id, rate->gb_per_s, rate->limit.value,
			      stalled > STALLED ? "the host holds back the card's requests" :
						  "the host or the software is late", 100 * stalled);
		lift(finding, "look at what costs, below: IOMMU translation, memory of another node, "
		     "power saving");
		return;
	}
}

/*
 * Report the number of writes of less than 4 bytes to registers that the card has refused. The
 * program that made such a write got no error.
 */
static void judge_registers(struct doctor *doctor)
{
	if (!doctor->refused_writes)
		return;
	lift(add(doctor, DOCTOR_NOTE, "registers", "%llu write%s of less than 4 bytes to registers "
		 "%s refused: registers take whole dwords",
		 (unsigned long long)doctor->refused_writes,
		 doctor->refused_writes == 1 ? "" : "s",
		 doctor->refused_writes == 1 ? "was" : "were"),
	     "read the register, change its bytes, and write all four");
}

/* Findings on facts that cost speed ----------------------------------------------------------- */

static void judge_path(struct doctor *doctor)
{
	const struct pci_function *card = &doctor->host.path[0];

	if (!doctor->host.steps || !card->express.known) {
		if (doctor->host.steps)
			add(doctor, DOCTOR_NOTE, "config", "configuration space can be read in part "
			    "only: run as root for MPS, MRRS and tags along the path");
		return;
	}
	if (!card->express.extended_tags && doctor->card.read_tags > 32)
		lift(add(doctor, DOCTOR_COSTS, "tags", "extended tags are off: of the card's %u "
			 "reads in flight 32 can be used", doctor->card.read_tags),
		     "the kernel switches them on where the root port can; see its messages");
	if (!card->express.relaxed_ordering)
		lift(add(doctor, DOCTOR_COSTS, "ordering", "relaxed ordering is off at the card: on "
			 "hosts with several sockets its writes wait for each other"),
		     "the kernel switches it off where the root port is known to be broken");
	for (unsigned int i = 1; i < doctor->host.steps; i++) {
		const struct pci_function *step = &doctor->host.path[i];

		if (step->express.known && !emulated(step) &&
		    step->express.mps != card->express.mps)
			lift(add(doctor, DOCTOR_COSTS, "path", "%s has an MPS of %u and the card %u: "
				 "larger TLPs are errors where they differ", step->address,
				 step->express.mps, card->express.mps),
			     "boot with pci=pcie_bus_safe");
	}
}

static void judge_iommu(struct doctor *doctor)
{
	const char *mode = doctor->host.iommu;

	if (strncmp(mode, "DMA", 3) == 0)
		lift(add(doctor, DOCTOR_COSTS, "iommu", "the IOMMU translates every address (%s): a "
			 "miss costs a walk of the page table", mode),
		     "boot with iommu=pt, or use huge pages, which miss less");
	else if (strcmp(mode, "off") == 0)
		add(doctor, DOCTOR_NOTE, "iommu", "there is no IOMMU: fastest, but VFIO cannot be "
		    "used, and the card may write anywhere");
}

static void judge_cpu(struct doctor *doctor)
{
	const struct doctor_host *host = &doctor->host;
	int node = host->steps ? host->path[0].numa : -1;

	/*
	 * A card without a PCI function in this machine is simulated. Its rates, in device time, do
	 * not depend on the CPU of this machine.
	 */
	if (!host->steps)
		return;
	if (node >= 0 && host->cpu_node >= 0 && node != host->cpu_node)
		lift(add(doctor, DOCTOR_COSTS, "numa", "the card is at node %d and this program ran "
			 "on node %d: data crosses between sockets", node, host->cpu_node),
		     "numactl --cpunodebind=%d --membind=%d", node, node);
	if (*host->governor && strcmp(host->governor, "performance") != 0)
		lift(add(doctor, DOCTOR_COSTS, "governor", "the CPU's governor is %s: cores between "
			 "the slot and memory slow down when they have nothing to do",
			 host->governor),
		     "cpupower frequency-set -g performance, or tuned-adm profile latency-performance");
	if (host->idle_exit_us > SLOW_EXIT_US)
		lift(add(doctor, DOCTOR_COSTS, "cstates", "the CPU may sleep in %s, from which it "
			 "wakes up in %u us", host->idle_state, host->idle_exit_us),
		     "hold /dev/cpu_dma_latency open with 0 in it, or boot with "
		     "processor.max_cstate=1");
	if (host->huge_pages == 0)
		lift(add(doctor, DOCTOR_NOTE, "hugepages", "there are no free huge pages, which VFIO "
			 "and large rings would use"),
		     "echo 64 > /proc/sys/vm/nr_hugepages");
}

static void judge_slot(struct doctor *doctor)
{
	const struct litepcie_slot *slot = &doctor->slot;

	if (doctor->slot_held)
		lift(add(doctor, DOCTOR_COSTS, "slot", "the logic in the user slot holds sink.ready "
			 "low for %.1f us of the card's time, after %llu beats: what the host "
			 "sends waits in front of it",
			 (double)(slot->time - slot->h2c.since) * doctor->card.tick_ps * 1e-6,
			 (unsigned long long)slot->h2c.beats),
		     "give it what it waits for (a buffer for what it sends, a register), or "
		     "litepcie_util reset");
}

static int by_weight(const void *a, const void *b)
{
	const struct doctor_finding *x = a, *y = b;

	return (int)x->weight - (int)y->weight;
}

void doctor_judge(struct doctor *doctor)
{
	judge_link(doctor);
	judge_payload(doctor);
	judge_reads(doctor);
	judge_completions(doctor);
	judge_host(doctor);
	judge_registers(doctor);
	judge_slot(doctor);
	judge_path(doctor);
	judge_iommu(doctor);
	judge_cpu(doctor);
	qsort(doctor->finding, doctor->findings, sizeof(doctor->finding[0]), by_weight);
}
