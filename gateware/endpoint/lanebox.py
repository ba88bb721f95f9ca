# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The Lanebox endpoint: SpinalHDL logic between the hard block's pins and LitePCIe's front ends.

LaneboxEndpoint replaces LitePCIeEndpoint and has its attributes (`phy`, `crossbar`,
`max_pending_requests`). Front ends first ask the crossbar for ports. The logic behind the ports is
generated when the SoC is finalized.

    rq, rc    Requester.scala  one client for each master port
    cq, cc    Completer.scala  one port for each target (see get_target) and one for all slave ports
"""

from litepcie.common import msi_layout
from litex.gen import *
from litex.soc.interconnect import stream
from litex.soc.interconnect.csr import *
from litex.soc.interconnect.packet import Arbiter, Dispatcher
from migen import *

from gateware import numbers
from gateware.endpoint.ports import (
    DataAdapter,
    MasterPort,
    RequestAdapter,
    SlavePort,
    port_completion_layout,
    port_request_layout,
    slave_completion_layout,
    slave_request_layout,
)
from gateware.vocabulary import layouts
from gateware.vocabulary.spinal_instance import spinal_instance
from gateware.vocabulary.spinal_ports import camel, stream_ports
from gateware.vocabulary.windows import gaps
from tools.verilog.spinal_build import generate

# The crossbar of the front ends -------------------------------------------------------------------

class Crossbar:
    """Makes the ports that front ends ask for, and collects them in `masters` and `slaves`. It has
    the two methods of LitePCIe's crossbar that front ends call."""
    def __init__(self):
        self.masters = []
        self.slaves  = []

    def get_master_port(self, write_only=False, read_only=False, fenced=True, told=False):
        """Makes and returns a MasterPort, through which a front end requests reads and writes of
        host memory.

        If interrupts of the front end never speak of a read whose data it has not taken, it says
        `fenced=False`: then no interrupt waits for its reads. A front end that must know when its
        writes have left the card says `told=True`.
        """
        port = MasterPort(len(self.masters), not read_only, not write_only, fenced, told)
        self.masters.append(port)
        return port

    def get_slave_port(self, address_decoder):
        """Returns a new SlavePort for the host's requests to parts of BAR0 that no target has. The
        port gets the requests for which `address_decoder(address)` is 1."""
        port = SlavePort(address_decoder)
        self.slaves.append(port)
        return port

class Target:
    """A completer's port, which gets the host's requests to the BAR windows in `windows`."""
    def __init__(self, windows):
        self.windows    = windows
        self.request    = stream.Endpoint(layouts.target_request_layout())    # o
        self.completion = stream.Endpoint(layouts.target_completion_layout()) # i

# The Lanebox endpoint -----------------------------------------------------------------------------

# The endpoint's counters that software can read, by the names of their registers, with
# descriptions. In Scala they are the fields of CompleterCounters, RequesterCounters and
# ReturnStatistics.
COMPLETER_COUNTERS = {
    "unsupported":  "Host requests answered with Unsupported Request.",
    "dropped":      "Host writes and messages that nobody takes.",
    "malformed":    "Of these two, those that break a rule of the specification.",
    "discontinued": "Host requests that the hard block cut short.",
}
REQUESTER_COUNTERS = {
    "claim_waits":  "Cycles in which a read waited for a tag, landing space or completion space.",
    "number_waits": "Cycles in which a write waited, because too many had not left the block.",
}
RETURN_COUNTERS = {
    "unsupported":   "Reads that failed: the completion says Unsupported Request.",
    "aborted":       "Reads that failed: the completion says Completer Abort.",
    "poisoned":      "Reads that failed: the data is marked as poisoned.",
    "timeouts":      "Reads that failed: no completion came in time.",
    "malformed":     "Reads that failed: a completion does not fit the request.",
    "cut":           "Reads that failed: the hard block cut a completion short.",
    "unexpected":    "Completions that no read waits for.",
    "late":          "Unexpected completions that came after their read's timeout.",
    "duplicates":    "Unexpected completions with a tag of ours that are not late.",
    "back_pressure": "Cycles in which a beat on RC was not taken.",
}

# LitePCIe's DMA engines have 2 KiB in flight for each pending request. With this number they have
# STOCK_READ_AHEAD bytes in flight in all.
MAX_PENDING_REQUESTS = numbers.STOCK_READ_AHEAD//(4*numbers.LARGEST_PAYLOAD)

class LaneboxEndpoint(LiteXModule):
    """Carries requests in both directions between the hard block behind `phy` and the front ends.

    An MSI at `interrupt` passes on to `phy.msi` when everything that was handed over before it is
    done: writes have left for the link, and the data of reads at fenced ports has reached the
    clients.

    With `completion_pool` the endpoint assumes that headers and data of the host's completions
    share the hard block's room, 2048 units of 16 bytes. Otherwise it assumes room for 256 headers
    and, apart from these, for 2048 units of data (PG213)."""
    def __init__(self, phy, completion_pool=False):
        self.phy                  = phy
        self.max_pending_requests = MAX_PENDING_REQUESTS
        self.completion_pool      = completion_pool
        self.crossbar             = Crossbar()
        self.interrupt            = stream.Endpoint(msi_layout()) # i
        self.msix                 = None # A Record of msix_layout(), or None if MSI-X is not built.
        # o, a read of host memory is outstanding, a TLP is half sent, or an MSI-X message waits.
        self.busy                 = Signal()
        # o, an interrupt message was sent in the cycle before.
        self.interrupt_sent       = Signal()
        # o, one cycle: software sets all counters of endpoint and MMIO bridge to 0.
        self.clear                = Signal()
        self._targets             = []

        self._control = CSRStorage(fields=[
            CSRField("clear", size=1, offset=0, pulse=True,
                description="Set every counter below to zero, and those of the MMIO bridge."),
            CSRField("np_max", size=6, offset=8, reset=numbers.MMIO_READS,
                description="Host reads that may be inside at a time: 1 to 32."),
        ])
        self._timeout = CSRStorage(32,
            reset       = int(numbers.COMPLETION_TIMEOUT*phy.clock),
            description = "Cycles after which a read without a completion has failed.")
        self._extended_tags = CSRStatus(
            description=f"{numbers.READ_TAGS} reads may be in flight, instead of 32.")
        for prefix, table in (
            ("host",   COMPLETER_COUNTERS),
            ("device", REQUESTER_COUNTERS),
            ("read",   RETURN_COUNTERS),
        ):
            for name, about in table.items():
                status = CSRStatus(32, name=f"{prefix}_{name}", description=about)
                setattr(self, f"_{prefix}_{name}", status)

    def add_msix(self):
        """Adds the port of the MSI-X table; the MSI at `interrupt` stays. Returns the port, a
        Record of msix_layout()."""
        self.msix = Record(layouts.msix_layout())
        return self.msix

    def get_target(self, windows):
        """Returns a new Target, a port of the completer that gets the host's requests to `windows`,
        which are tuples (BAR, offset, size) in bytes.

        The field `window` of the port's requests has one bit for each window, in the order of
        `windows`."""
        target = Target(windows)
        self._targets.append(target)
        return target

    def do_finalize(self):
        """Adds the Instances of Completer and Requester. LiteX calls this method when all ports
        have been asked for."""
        completer_idle, requester_idle = Signal(), Signal()
        self._add_completer(completer_idle)
        self._add_requester(requester_idle)
        self.comb += [
            self.phy.idle.eq(completer_idle & requester_idle),
            self.busy.eq(~requester_idle | (self.msix.busy if self.msix else 0)),
        ]
        self.comb += self.clear.eq(self._control.fields.clear)
        msi_sent = Signal()
        self.sync += msi_sent.eq(self.phy.msi.valid & self.phy.msi.ready)
        self.comb += self.interrupt_sent.eq(msi_sent | (self.msix.sent if self.msix else 0))

    def _instance(self, component, parameters, left_open=None, **ports):
        verilog = generate(component, **parameters)
        self.phy.platform.add_source(verilog)
        self.specials += spinal_instance(verilog, left_open, **ports)

    def _counter_ports(self, bundle, prefix, table):
        return {f"o_{bundle}_{camel(name)}": getattr(self, f"_{prefix}_{name}").status
            for name in table}

    # Requests of the host to the card -------------------------------------------------------------

    def _add_completer(self, idle):
        if self.crossbar.slaves:
            self._add_slave_ports()
        windows = [f"{bar},{base},{size},{port}"
            for port, target in enumerate(self._targets) for bar, base, size in target.windows]
        ports = {}
        for n, target in enumerate(self._targets):
            ports.update(stream_ports(f"ports_{n}_request",    target.request,    "source"))
            ports.update(stream_ports(f"ports_{n}_completion", target.completion, "sink"))
        self._instance("completer.Completer", dict(
            ports      = len(self._targets),
            windows    = windows,
            writeBytes = numbers.LARGEST_PAYLOAD,
        ),
            **stream_ports("cq", self.phy.cq, "sink"),
            **stream_ports("cc", self.phy.cc, "source"),
            o_npRequest  = self.phy.np_request,
            i_npMax      = self._control.fields.np_max,
            i_maxPayload = self.phy.settings.max_payload,
            i_stop       = self.phy.stop,
            o_idle       = idle,
            i_clear      = self.clear,
            **self._counter_ports("counters", "host", COMPLETER_COUNTERS),
            **ports,
        )

    def _add_slave_ports(self):
        """Adds one port of the completer, which all slave ports share, as in LitePCIe's crossbar.
        It gets the parts of BAR0 that no target has."""
        slaves = self.crossbar.slaves
        source = stream.Endpoint(slave_request_layout())
        sink   = stream.Endpoint(slave_completion_layout())
        target = self.get_target(gaps(numbers.BAR0_SIZE,
            [window for other in self._targets for window in other.windows if window[0] == 0]))
        self._instance("endpoint.SlavePort", {},
            **stream_ports("port_request",    target.request,    "sink"),
            **stream_ports("port_completion", target.completion, "source"),
            **stream_ports("source", source, "source"),
            **stream_ports("sink",   sink,   "sink"),
            i_sink_payload_fragment_first = sink.first,
            left_open = {"source_payload_fragment_first":
                "it is undefined before the first request, and `request.first` below is always 1"},
        )
        request = stream.Endpoint(port_request_layout())
        answer  = stream.Endpoint(port_completion_layout())
        self.dispatcher = Dispatcher(request, [slave.sink for slave in slaves], one_hot=True)
        self.arbiter    = Arbiter([slave.source for slave in slaves], answer)
        self.comb += [
            source.connect(request),
            # SlavePort.scala makes a request of its own of each dword, so every beat is the first
            # of its request.
            request.first.eq(1),
            request.with_be.eq(1),
            answer.connect(sink, omit={"error"}),
        ]
        for n, slave in enumerate(slaves):
            self.comb += self.dispatcher.sel[n].eq(slave.address_decoder(request.adr))

    # Requests of the card to the host -------------------------------------------------------------

    def _add_requester(self, idle):
        ports, clients = {}, []
        for n, port in enumerate(self.crossbar.masters):
            adapter = RequestAdapter()
            self.submodules += adapter
            self.comb += port.source.connect(adapter.sink)
            ports.update(stream_ports(f"clients_{n}", adapter.source, "sink"))
            clients.append("r"*port.reads + "w"*port.writes + "u"*(not port.fenced) +
                "s"*port.told)
        for n, port in enumerate(port for port in self.crossbar.masters if port.reads):
            adapter = DataAdapter(port.channel)
            self.submodules += adapter
            self.comb += adapter.source.connect(port.sink)
            ports.update(stream_ports(f"returns_{n}", adapter.sink, "source"))
        told = [port.sent for port in self.crossbar.masters if port.told]
        if told:
            ports["o_sent"] = sent = Signal(len(told))
            self.comb += Cat(told).eq(sent)
        self._instance("endpoint.Requester", dict(
            clients     = ",".join(clients),
            readTags    = numbers.READ_TAGS,
            ringBytes   = numbers.LANDING_SIZE,
            completionPool = bool(self.completion_pool),
            msixVectors = numbers.MSI_WIDTH if self.msix else 0,
        ),
            **stream_ports("rq", self.phy.rq, "source"),
            **stream_ports("rc", self.phy.rc, "sink"),
            **stream_ports("interrupt", self.interrupt, "sink",   packets=False),
            **stream_ports("fenced",    self.phy.msi,   "source", packets=False),
            **sequence_ports(self.phy.sequence),
            o_management_address  = self.phy.cfg_mgmt.address,
            o_management_read     = self.phy.cfg_mgmt.read,
            i_management_readData = self.phy.cfg_mgmt.data,
            i_management_done     = self.phy.cfg_mgmt.done,
            i_maxPayload          = self.phy.settings.max_payload,
            i_maxReadRequest      = self.phy.settings.max_read_request,
            i_rcb128              = self.phy.settings.rcb_128,
            i_busMaster           = self.phy.settings.bus_master,
            i_timeoutCycles       = self._timeout.storage,
            i_stop                = self.phy.stop,
            i_clear               = self.clear,
            o_idle                = idle,
            o_extendedTags        = self._extended_tags.status,
            **self._counter_ports("counters",   "device", REQUESTER_COUNTERS),
            **self._counter_ports("statistics", "read",   RETURN_COUNTERS),
            **(msix_ports(self.msix, self.phy.msix) if self.msix else {}),
            **ports,
        )

def msix_ports(msix, control):
    """Returns the arguments of the Requester's Instance for its MsixTable. `msix` is a Record of
    msix_layout(), `control` one of msix_control_layout()."""
    registers = msix.registers
    return {
        "i_msixEnable":              control.enable,
        "i_msixMask":                control.mask,
        "i_msixIrqs":                msix.causes,
        "o_msixBusy":                msix.busy,
        "o_msixSent":                msix.sent,
        "i_msixRegisters_address":   registers.address,
        "i_msixRegisters_write":     registers.write,
        "i_msixRegisters_writeData": registers.write_data,
        "o_msixRegisters_readData":  registers.read_data,
    }

def sequence_ports(sequence):
    """Returns the arguments of the Requester's Instance for SequencePins, the sequence numbers of
    requests that have left the hard block."""
    return {
        f"i_sequence_numbers_{n}_{name}": getattr(sequence, f"{field}_{n}")
        for n in range(2) for name, field in (("valid", "valid"), ("payload", "number"))
    }
