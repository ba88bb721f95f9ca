/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The answers to Wireshark: the list of the cards' queues as interfaces, the link type and the
 * settings of an interface, and the frames of a queue, which are written as pcapng into a FIFO. The
 * cards are those that have a device file /dev/litepcieN-capture of the kernel driver, and those in
 * the environment variable LANEBOX_CAPTURE, such as "sim:build/board.sock vfio:0000:22:00.0".
 */
#include "extcap.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/record.h"

#define NODES		"/dev/litepcie*-capture"
#define VARIABLE	"LANEBOX_CAPTURE"
#define NAME_SIZE	32
#define DEVICE_SIZE	256
#define MOST		32u	/* largest number of cards that Wireshark is told of */
#define QUEUE_MARK	"-q"	/* text before the number of a queue in an interface's name */
/*
 * Option that is added to the name of a simulated board while its queues are counted: wait 2 s at
 * most for an answer. A board that another client uses may not answer, and Wireshark waits for the
 * list.
 */
#define LIST_TIMEOUT	",timeout=2"
/*
 * longest time in ms of one wait for frames, after which the program checks whether a signal has
 * come
 */
#define WAIT_MS		200

/*
 * A card in Wireshark's list of interfaces. Queue 0 of the card is the interface @name, and queue 2
 * is @name-q2. Wireshark keeps an interface's settings by its name, so @name must not change from
 * one start of Wireshark to the next.
 */
struct interface {
	char	name[NAME_SIZE];
	char	device[DEVICE_SIZE];
};

struct interfaces {
	struct interface	list[MOST];
	unsigned int		count;
};

/* A request of Wireshark: the values of the options with which Wireshark runs the program. */
struct request {
	bool				lists, links, settings, captures;
	const char			*version, *interface, *fifo, *filter;
	struct litepcie_capture_config	config;
	struct litepcie_generator	generator;
};

/* Interfaces that Wireshark lists ------------------------------------------------------------- */

__attribute__((format(printf, 2, 0)))
static void add(struct interfaces *found, const char *name, unsigned int number, const char *device,
		size_t length)
{
	struct interface *next = &found->list[found->count];

	if (found->count == MOST || length >= sizeof(next->device))
		return;
	snprintf(next->name, sizeof(next->name), name, number);
	memcpy(next->device, device, length);
	next->device[length] = 0;
	found->count++;
}

/*
 * Add the kernel driver's cards that can capture. The file /dev/litepcie3-capture adds the
 * interface lanebox3 of the card /dev/litepcie3.
 */
static void add_nodes(struct interfaces *found)
{
	const size_t begin = strlen("/dev/litepcie"), end = strlen("-capture");
	glob_t nodes;

	if (glob(NODES, 0, NULL, &nodes) == 0) {
		for (size_t i = 0; i < nodes.gl_pathc; i++) {
			const char *path = nodes.gl_pathv[i];

			add(found, "lanebox%u", (unsigned int)strtoul(path + begin, NULL, 10), path,
			    strlen(path) - end);
		}
	}
	globfree(&nodes);
}

/*
 * Add the cards that the environment variable LANEBOX_CAPTURE names, as interfaces lanebox-env0,
 * lanebox-env1, ...
 */
static void add_named(struct interfaces *found)
{
	const char *word = getenv(VARIABLE);

	for (unsigned int i = 0; word && *word; i++) {
		size_t length = strcspn(word, " ");

		if (length)
			add(found, "lanebox-env%u", i, word, length);
		word += length + strspn(word + length, " ");
	}
}

static void find_interfaces(struct interfaces *found)
{
	found->count = 0;
	add_nodes(found);
	add_named(found);
}

/*
 * Returns the device name of the card of the interface @name, and stores the number of the
 * interface's queue in *@queue. @name must be the name of a card in @found, or this name with -qN
 * behind it for queue N, 1 or more. Returns NULL if it is neither. Whether the card has the queue
 * is not checked.
 */
static const char *find_device(const struct interfaces *found, const char *name, uint32_t *queue)
{
	for (unsigned int i = 0; i < found->count; i++) {
		size_t length = strlen(found->list[i].name);
		size_t mark = strlen(QUEUE_MARK);
		const char *rest;
		uint64_t value = 0;

		if (strncmp(found->list[i].name, name, length) != 0)
			continue;
		rest = name + length;
		if (*rest && (strncmp(rest, QUEUE_MARK, mark) != 0 ||
			      !util_parse_number(rest + mark, 1, UINT32_MAX, &value)))
			continue;
		*queue = (uint32_t)value;
		return found->list[i].device;
	}
	return NULL;
}

/*
 * Returns how many queues the card has. The result is 1 if the card cannot be opened now, for
 * example because another program uses it, or if its queues cannot be counted.
 */
static unsigned int count_queues(const char *device)
{
	bool simulated = strncmp(device, "sim:", 4) == 0;
	char asked[DEVICE_SIZE + sizeof(LIST_TIMEOUT)];
	struct litepcie *dev;
	int queues;

	snprintf(asked, sizeof(asked), "%s%s", device, simulated ? LIST_TIMEOUT : "");
	if (litepcie_open(&dev, asked, NULL, 0) < 0)
		return 1;
	queues = litepcie_capture_queues(dev);
	litepcie_close(dev);
	return queues > 0 ? (unsigned int)queues : 1;
}

/* Answers to Wireshark ------------------------------------------------------------------------ */

static void list_interfaces(const struct interfaces *found)
{
	puts("extcap {version=1}");
	for (unsigned int i = 0; i < found->count; i++) {
		const struct interface *card = &found->list[i];
		unsigned int queues = count_queues(card->device);

		printf("interface {value=%s}{display=Lanebox card %s}\n", card->name, card->device);
		for (unsigned int n = 1; n < queues; n++)
			printf("interface {value=%s" QUEUE_MARK "%u}{display=Lanebox card %s, queue "
			       "%u}\n", card->name, n, card->device, n);
	}
}

static void list_settings(void)
{
	printf("arg {number=0}{call=--snap}{display=Bytes to keep of a frame}"
	       "{tooltip=0: all}{type=unsigned}{range=0,%u}{default=0}\n",
	       LITEPCIE_CAPTURE_FRAME_MOST);
	puts("arg {number=1}{call=--wait}{display=Time that frames wait in the card, in ns}"
	     "{tooltip=Frames wait for more, so that the card writes them together}"
	     "{type=unsigned}{default=1000}\n"
	     "arg {number=2}{call=--ring}{display=Memory of the ring}"
	     "{tooltip=A power of two from 64K to 1G}{type=string}{default=64M}\n"
	     "arg {number=3}{call=--keep-bad}{display=Frames that their source found bad, too}"
	     "{type=boolflag}{default=false}\n"
	     "arg {number=4}{call=--generate}{display=Frames of the card's own generator}"
	     "{tooltip=SIZE,PERIOD,COUNT as of lanebox-capture record; empty: none}{type=string}");
}

/* Frames on their way to Wireshark ------------------------------------------------------------ */

/*
 * Write the @bytes at @data to the FIFO. Returns false if Wireshark has closed the FIFO, if a
 * signal has ended the wait for room in the FIFO, or after a failure. Only a failure is noted.
 */
static bool write_all(struct util *util, int fd, const uint8_t *data, size_t bytes)
{
	while (bytes) {
		ssize_t done = write(fd, data, bytes);

		if (done < 0 && errno == EINTR && !util_interrupted())
			continue;
		if (done < 0) {
			if (errno != EPIPE && errno != EINTR)
				util_fail(util, "writing to Wireshark: %s", strerror(errno));
			return false;
		}
		data += done;
		bytes -= (size_t)done;
	}
	return true;
}

/*
 * Write the data of the ring to the FIFO as soon as the card has written it, until Wireshark closes
 * the FIFO, a signal comes, another program stops queue 0, or a call of the library or a write
 * fails.
 */
static void follow(struct util *util, struct litepcie_capture *capture, int fd)
{
	struct litepcie_span span = { .struct_size = sizeof(span) };
	int rc = 0;

	while (!util_interrupted()) {
		rc = litepcie_capture_next(capture, &span, WAIT_MS);
		if (rc == 0 || rc == -EINTR)
			continue;
		/* -EPIPE: queue 0 has stopped, which ends the captures of all queues. */
		if (rc == -EPIPE)
			return;
		if (rc < 0 || !write_all(util, fd, span.data, span.bytes))
			break;
		rc = litepcie_capture_release(capture, span.bytes);
		if (rc < 0)
			break;
	}
	if (rc != -EINTR)
		util_check(util, rc, "capturing");
}

static void stream(struct util *util, const struct request *request,
		   struct litepcie_capture *capture, int fd)
{
	uint8_t header[LITEPCIE_CAPTURE_HEADER_BYTES];
	int rc = litepcie_capture_header(capture, header, sizeof(header));

	if (rc >= 0)
		rc = litepcie_capture_start(capture);
	if (rc >= 0 && request->generator.size)
		rc = litepcie_capture_generate(capture, &request->generator);
	util_check(util, rc, "starting the capture");
	if (rc < 0)
		return;
	if (write_all(util, fd, header, sizeof(header)))
		follow(util, capture, fd);
	if (request->generator.size)
		litepcie_capture_generate_stop(capture);
	litepcie_capture_stop(capture);
}

static int capture_frames(struct util *util, const struct request *request)
{
	struct litepcie_capture *capture = NULL;
	int fd = open(request->fifo, O_WRONLY | O_CLOEXEC), rc;

	if (fd < 0)
		return util_usage(util, "--fifo %s: %s", request->fifo, strerror(errno));
	if (util_open(util)) {
		rc = litepcie_capture_open(util->dev, &request->config, &capture);
		if (rc == -EINVAL) {
			close(fd);
			return record_refuse(util);
		}
		util_check(util, rc, "opening the capture");
		if (rc == 0)
			stream(util, request, capture, fd);
	}
	close(fd);
	return util_emit(util, NULL, NULL);
}

/* Options that Wireshark gives the program ---------------------------------------------------- */

static struct request request = {
	.config.struct_size = sizeof(request.config),
	.generator.struct_size = sizeof(request.generator),
};

/*
 * Parse the value of --generate, SIZE[,PERIOD[,COUNT]], the settings of the card's generator of
 * frames. If @text is empty, the generator is not started.
 */
static bool option_frames(const struct util_option *option, const char *text)
{
	return !*text || record_generator(text, option->to);
}

/*
 * The options of Wireshark's extcap protocol, and those of the settings that list_settings()
 * offers.
 */
static const struct util_option options[] = {
	{ .name = "extcap-interfaces", .to = &request.lists },
	{ .name = "extcap-version", .parse = option_text, .optional = true,
	  .to = &request.version },
	{ .name = "extcap-interface", .parse = option_text, .to = &request.interface },
	{ .name = "extcap-dlts", .to = &request.links },
	{ .name = "extcap-config", .to = &request.settings },
	{ .name = "extcap-capture-filter", .parse = option_text, .to = &request.filter },
	{ .name = "capture", .to = &request.captures },
	{ .name = "fifo", .parse = option_text, .to = &request.fifo },
	{ .name = "snap", .parse = option_number32, .to = &request.config.snap,
	  .high = LITEPCIE_CAPTURE_FRAME_MOST, .rule = OPTION_RANGE },
	{ .name = "wait", .parse = record_wait, .to = &request.config.wait_ns,
	  .rule = "it must be a number up to 4294967295" },
	{ .name = "ring", .parse = option_size, .to = &request.config.ring_bytes,
	  .rule = "it must be a number of bytes; K, M and G may follow" },
	{ .name = "keep-bad", .to = &request.config.keep_bad },
	{ .name = "generate", .parse = option_frames, .to = &request.generator,
	  .rule = "it must be SIZE[,PERIOD[,COUNT]], like 64,1000,20000" },
	{ 0 },
};

bool extcap_asks(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strncmp(argv[i], "--extcap-", strlen("--extcap-")) == 0)
			return true;
	return false;
}

int extcap(struct util *util, int argc, char **argv)
{
	const struct command answer = { .options = options, .most = UINT_MAX };
	struct interfaces found;
	int status = options_parse(util, &answer, &argc, &argv);

	if (status >= 0)
		return status;
	find_interfaces(&found);
	if (request.lists) {
		list_interfaces(&found);
		return EXIT_OK;
	}
	if (!request.interface)
		return util_usage(util, "Wireshark must name an interface by --extcap-interface");
	util->device = find_device(&found, request.interface, &request.config.queue);
	if (!util->device)
		return util_usage(util, "%s: there is no such interface; cards are those with a "
				  "node " NODES ", and those that " VARIABLE " names",
				  request.interface);
	if (request.links)
		puts("dlt {number=1}{name=EN10MB}{display=Ethernet}");
	if (request.settings)
		list_settings();
	if (!request.captures)
		return EXIT_OK;
	if (request.filter && *request.filter)
		return util_usage(util, "capture filter %s: the card cannot filter for Wireshark; "
				  "use a display filter", request.filter);
	if (!request.fifo)
		return util_usage(util, "--capture needs --fifo");
	if (request.config.queue && request.generator.size)
		return util_usage(util, "%s: the generator belongs to the capture of queue 0, and "
				  "this is queue %u", request.interface, request.config.queue);
	return capture_frames(util, &request);
}
