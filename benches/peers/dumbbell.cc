// Queue-management dumbbell for ns-3 (3.37 .. 3.48): one scenario program, one JSON line out.
// Our own program, the counterpart of scenarios/bench/; run.py beside it compiles and runs it.
//
//   S_0 --+                              +-- D_0        S_i: bulk TCP senders (forward flows)
//   S_1 --+-- R_left ==bottleneck== R_right --+-- D_1   access links: --accessRate, --accessDelay
//   ...   +                              +-- ...        AQM: on R_left's bottleneck port
//
// The queue discipline holds the queue: the device below it keeps one packet only. No other
// port has a queue discipline; they are deep tail-drop device queues that never fill.
// Optional reverse bulk flows and a UDP request/reply probe turn it into an RRUL-like test.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <sys/resource.h>
#include <vector>

#ifndef NS3_LABEL
#define NS3_LABEL "unknown"
#endif

using namespace ns3;

namespace
{

// ---------------------------------------------------------------- measuring

struct Samples
{
    std::vector<float> v; // milliseconds

    double Mean() const
    {
        double s = 0;
        for (float x : v)
        {
            s += x;
        }
        return v.empty() ? 0 : s / v.size();
    }

    // nearest-rank quantile; call after Sort()
    double Quantile(double q) const
    {
        if (v.empty())
        {
            return 0;
        }
        size_t k = static_cast<size_t>(std::ceil(q * v.size()));
        return v[std::min(v.size(), std::max<size_t>(k, 1)) - 1];
    }

    void Sort()
    {
        std::sort(v.begin(), v.end());
    }
};

Samples g_sojourn;    // per packet that left the forward queue disc
Samples g_probeRtt;   // per answered UDP probe
uint64_t g_probeSent = 0;
double g_measureFrom = 0;
uint64_t g_drops = 0;          // of both queue discs, from measureFrom on
uint64_t g_retransmissions = 0; // data segments sent again, from measureFrom on
std::vector<uint64_t> g_received; // bytes that each sink got from measureFrom on

bool
Measures()
{
    return Simulator::Now().GetSeconds() >= g_measureFrom;
}

void
OnDrop(Ptr<const QueueDiscItem>)
{
    g_drops += Measures() ? 1 : 0;
}

void
OnReceived(uint32_t flow, Ptr<const Packet> packet, const Address&)
{
    g_received[flow] += Measures() ? packet->GetSize() : 0;
}

// A data segment that begins before the highest byte sent so far has been sent before.
void
OnSegment(SequenceNumber32* highest, Ptr<const Packet> packet, const TcpHeader& header,
          Ptr<const TcpSocketBase>)
{
    if (packet->GetSize() == 0)
    {
        return;
    }
    const SequenceNumber32 end = header.GetSequenceNumber() + packet->GetSize();
    if (header.GetSequenceNumber() < *highest)
    {
        g_retransmissions += Measures() ? 1 : 0;
    }
    *highest = std::max(*highest, end);
}

void
FollowSegments(Ptr<BulkSendApplication> sender, SequenceNumber32* highest)
{
    sender->GetSocket()->TraceConnectWithoutContext("Tx", MakeBoundCallback(&OnSegment, highest));
}

void
OnSojourn(Time t)
{
    g_sojourn.v.push_back(static_cast<float>(t.GetNanoSeconds() * 1e-6));
}

// CoDel-type discs take a packet out (which fires SojournTime) and then drop it: take that
// sample back, so that the delays are those of packets that were really sent.
void
OnDropAfterDequeue(Ptr<const QueueDiscItem>, const char*)
{
    if (!g_sojourn.v.empty())
    {
        g_sojourn.v.pop_back();
    }
}

double
CpuUser()
{
    rusage r;
    getrusage(RUSAGE_SELF, &r);
    return r.ru_utime.tv_sec + r.ru_utime.tv_usec * 1e-6;
}

double
CpuSys()
{
    rusage r;
    getrusage(RUSAGE_SELF, &r);
    return r.ru_stime.tv_sec + r.ru_stime.tv_usec * 1e-6;
}

long
PeakKiB()
{
    rusage r;
    getrusage(RUSAGE_SELF, &r);
    return r.ru_maxrss;
}

// ---------------------------------------------------------------- UDP probe

class Prober
{
  public:
    void Setup(Ptr<Node> client, Ptr<Node> server, Ipv4Address serverAddr, Time gap, uint32_t size)
    {
        m_gap = gap;
        m_size = size;
        m_server = Socket::CreateSocket(server, UdpSocketFactory::GetTypeId());
        m_server->Bind(InetSocketAddress(Ipv4Address::GetAny(), 7));
        m_server->SetRecvCallback(MakeCallback(&Prober::Answer, this));
        m_client = Socket::CreateSocket(client, UdpSocketFactory::GetTypeId());
        m_client->Bind();
        m_client->Connect(InetSocketAddress(serverAddr, 7));
        m_client->SetRecvCallback(MakeCallback(&Prober::Reply, this));
    }

    void Send()
    {
        uint8_t buf[2048] = {0};
        int64_t now = Simulator::Now().GetNanoSeconds();
        std::copy_n(reinterpret_cast<uint8_t*>(&now), sizeof now, buf);
        m_client->Send(Create<Packet>(buf, m_size));
        ++g_probeSent;
        Simulator::Schedule(m_gap, &Prober::Send, this);
    }

  private:
    void Answer(Ptr<Socket> s)
    {
        Address from;
        while (Ptr<Packet> p = s->RecvFrom(from))
        {
            uint8_t buf[2048];
            uint32_t n = p->CopyData(buf, sizeof buf);
            s->SendTo(Create<Packet>(buf, n), 0, from);
        }
    }

    void Reply(Ptr<Socket> s)
    {
        while (Ptr<Packet> p = s->Recv())
        {
            int64_t then = 0;
            p->CopyData(reinterpret_cast<uint8_t*>(&then), sizeof then);
            if (then * 1e-9 >= g_measureFrom)
            {
                g_probeRtt.v.push_back(
                    static_cast<float>((Simulator::Now().GetNanoSeconds() - then) * 1e-6));
            }
        }
    }

    Ptr<Socket> m_client;
    Ptr<Socket> m_server;
    Time m_gap;
    uint32_t m_size = 64;
};

// ---------------------------------------------------------------- set-up helpers

// Chooses the congestion control by short name; returns the name of the type used.
std::string
SelectTcp(const std::string& name)
{
    std::string full = "ns3::Tcp" + name;
    TypeId tid;
    if (!TypeId::LookupByNameFailSafe(full, &tid))
    {
        if (name == "WestwoodPlus") // ns-3 before 3.38 has it as a mode of TcpWestwood
        {
            full = "ns3::TcpWestwood";
            Config::SetDefault("ns3::TcpWestwood::ProtocolType", StringValue("WestwoodPlus"));
            tid = TypeId::LookupByName(full);
        }
        else
        {
            NS_FATAL_ERROR("no TCP variant " << full);
        }
    }
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(tid));
    return full;
}

struct AqmParams
{
    std::string kind;
    uint32_t buffer;
    Time target;
    Time interval;
    double minTh;
    double maxTh;
    double qw;
    double linterm;
    bool redBytes;
    uint32_t packetSize;
    std::string rate;
    Time delay;
};

void
ConfigureAqm(TrafficControlHelper& tc, const AqmParams& a)
{
    const QueueSizeValue size(QueueSize(QueueSizeUnit::PACKETS, a.buffer));
    const QueueSizeValue bytes(QueueSize(QueueSizeUnit::BYTES, a.buffer));
    const std::string target = std::to_string(a.target.GetNanoSeconds()) + "ns";
    const std::string interval = std::to_string(a.interval.GetNanoSeconds()) + "ns";
    if (a.kind == "fifo")
    {
        tc.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", size);
    }
    else if (a.kind == "red")
    {
        tc.SetRootQueueDisc("ns3::RedQueueDisc",
                            "MaxSize", a.redBytes ? bytes : size,
                            "MinTh", DoubleValue(a.minTh),
                            "MaxTh", DoubleValue(a.maxTh),
                            "QW", DoubleValue(a.qw),
                            "LInterm", DoubleValue(a.linterm),
                            "Gentle", BooleanValue(!a.redBytes),
                            "MeanPktSize", UintegerValue(a.packetSize),
                            "LinkBandwidth", DataRateValue(DataRate(a.rate)),
                            "LinkDelay", TimeValue(a.delay));
    }
    else if (a.kind == "codel")
    {
        tc.SetRootQueueDisc("ns3::CoDelQueueDisc",
                            "MaxSize", size,
                            "Target", StringValue(target),
                            "Interval", StringValue(interval));
    }
    else if (a.kind == "cobalt")
    {
        tc.SetRootQueueDisc("ns3::CobaltQueueDisc",
                            "MaxSize", size,
                            "Target", StringValue(target),
                            "Interval", StringValue(interval));
    }
    else if (a.kind == "pie")
    {
        tc.SetRootQueueDisc("ns3::PieQueueDisc",
                            "MaxSize", size,
                            "MeanPktSize", UintegerValue(a.packetSize),
                            "QueueDelayReference", TimeValue(a.target));
    }
    else if (a.kind == "fqcodel")
    {
        tc.SetRootQueueDisc("ns3::FqCoDelQueueDisc",
                            "MaxSize", size,
                            "Target", StringValue(target),
                            "Interval", StringValue(interval));
    }
    else if (a.kind == "fqpie")
    {
        tc.SetRootQueueDisc("ns3::FqPieQueueDisc",
                            "MaxSize", size,
                            "MeanPktSize", UintegerValue(a.packetSize),
                            "QueueDelayReference", TimeValue(a.target));
    }
    else
    {
        NS_FATAL_ERROR("unknown --aqm " << a.kind);
    }
}

uint64_t
DropsOf(const QueueDisc::Stats& s)
{
    return s.nTotalDroppedPackets;
}

} // namespace

int
main(int argc, char* argv[])
{
    std::string aqm = "codel";
    std::string tcp = "Cubic";
    uint32_t flows = 14;
    uint32_t reverseFlows = 0;
    std::string bottleneckRate = "3Mbps";
    std::string accessRate = "15Mbps";
    std::string accessDelay = "15ms";
    std::string bottleneckDelay = "0ms";
    uint32_t buffer = 1000;
    uint32_t segment = 1460;
    double duration = 100;
    uint32_t seed = 1;
    // secondary
    std::string target = ""; // empty: the discipline's usual value
    std::string interval = "100ms";
    double minTh = 5;
    double maxTh = 15;
    double qw = 0.002;
    double linterm = 50;
    bool redBytes = false;
    bool sack = true;
    uint32_t delack = 2;
    int timestamps = -1; // -1: only if segment + 52 still fits in 1500
    double startSpread = 0.1;
    uint32_t hosts = 0;
    bool aqmReverse = false;
    double probeGap = 0;
    uint32_t probeSize = 64;
    std::string floodRate = "";
    uint32_t floodSize = 1400;
    double floodStart = 1;
    uint64_t sockbuf = 0;
    uint32_t sendSize = 0;
    uint64_t ssthresh = 0;
    bool collect = true;
    std::string scheduler = "";
    bool eachFlow = true;

    CommandLine cmd(__FILE__);
    cmd.AddValue("aqm", "fifo|red|codel|pie|fqcodel|fqpie|cobalt", aqm);
    cmd.AddValue("tcp", "NewReno|LinuxReno|Cubic|Vegas|Westwood|WestwoodPlus|Bbr|... (ns3::Tcp<name>)", tcp);
    cmd.AddValue("flows", "bulk flows left to right", flows);
    cmd.AddValue("reverseFlows", "bulk flows right to left", reverseFlows);
    cmd.AddValue("bottleneckRate", "bottleneck bit rate", bottleneckRate);
    cmd.AddValue("accessRate", "access link bit rate", accessRate);
    cmd.AddValue("accessDelay", "one-way delay of each access link", accessDelay);
    cmd.AddValue("bottleneckDelay", "one-way delay of the bottleneck", bottleneckDelay);
    cmd.AddValue("buffer", "bottleneck queue disc limit, packets", buffer);
    cmd.AddValue("segment", "TCP payload bytes per segment", segment);
    cmd.AddValue("duration", "simulated seconds", duration);
    cmd.AddValue("seed", "run number of the random stream", seed);
    cmd.AddValue("target", "delay target (codel, cobalt, fqcodel: 5ms; pie, fqpie: 15ms)", target);
    cmd.AddValue("interval", "CoDel interval", interval);
    cmd.AddValue("minTh", "RED minimum threshold, packets", minTh);
    cmd.AddValue("maxTh", "RED maximum threshold, packets", maxTh);
    cmd.AddValue("qw", "RED average weight", qw);
    cmd.AddValue("linterm", "RED 1/max_p", linterm);
    cmd.AddValue("redBytes", "RED's limit and thresholds in bytes, and no gentle part", redBytes);
    cmd.AddValue("sack", "TCP selective acknowledgement", sack);
    cmd.AddValue("delack", "segments per delayed ACK (1: none delayed)", delack);
    cmd.AddValue("timestamps", "TCP timestamps: 1, 0, or -1 (if they fit in 1500 bytes)", timestamps);
    cmd.AddValue("startSpread", "flows start at uniform random times in [0, this) s", startSpread);
    cmd.AddValue("hosts", "host pairs for the forward flows (0: one per flow)", hosts);
    cmd.AddValue("aqmReverse", "the same AQM on the reverse direction too", aqmReverse);
    cmd.AddValue("probeGap", "seconds between UDP probes (0: no probe)", probeGap);
    cmd.AddValue("probeSize", "UDP probe payload bytes", probeSize);
    cmd.AddValue("measureFrom", "what happens before this time is not counted, s", g_measureFrom);
    cmd.AddValue("floodRate", "datagrams left to right at this rate (empty: none)", floodRate);
    cmd.AddValue("floodSize", "payload bytes of such a datagram", floodSize);
    cmd.AddValue("floodStart", "when they begin, s", floodStart);
    cmd.AddValue("sockbuf", "TCP socket buffers, bytes (0: 2 x (BDP + buffer) within 1..32 MiB)", sockbuf);
    cmd.AddValue("sendSize", "bytes per BulkSend write (0: one segment)", sendSize);
    cmd.AddValue("ssthresh", "initial slow-start threshold, bytes (0: none)", ssthresh);
    cmd.AddValue("collect", "collect sojourn times (off: cheapest run)", collect);
    cmd.AddValue("scheduler", "event queue type, e.g. ns3::HeapScheduler (empty: the default)", scheduler);
    cmd.AddValue("eachFlow", "print the goodput of each flow", eachFlow);
    cmd.Parse(argc, argv);

    const auto setupBegin = std::chrono::steady_clock::now();
    RngSeedManager::SetSeed(1);
    RngSeedManager::SetRun(seed);
    if (!scheduler.empty())
    {
        ObjectFactory f;
        f.SetTypeId(scheduler);
        Simulator::SetScheduler(f);
    }

    const Time aDelay(accessDelay);
    const Time bDelay(bottleneckDelay);
    const double rate = DataRate(bottleneckRate).GetBitRate();
    const double rtt = 2 * (2 * aDelay.GetSeconds() + bDelay.GetSeconds());
    if (timestamps < 0)
    {
        timestamps = segment + 52 <= 1500 ? 1 : 0;
    }
    const uint32_t ipSize = segment + 40 + (timestamps ? 12 : 0);
    if (sockbuf == 0)
    {
        const double need = 2 * (rate * rtt / 8 + double(buffer) * ipSize);
        sockbuf = static_cast<uint64_t>(std::min(std::max(need, double(1 << 20)), double(32 << 20)));
    }
    if (sendSize == 0)
    {
        sendSize = segment;
    }
    if (target.empty())
    {
        target = (aqm == "pie" || aqm == "fqpie") ? "15ms" : "5ms";
    }

    const std::string tcpType = SelectTcp(tcp);
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(segment));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(sockbuf));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(sockbuf));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(delack));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(sack));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(timestamps != 0));

    if (ssthresh > 0)
    {
        Config::SetDefault("ns3::TcpSocket::InitialSlowStartThreshold", UintegerValue(ssthresh));
    }

    // ---- topology
    const uint32_t fwdPairs = hosts == 0 ? flows : hosts;
    const uint32_t pairs =
        fwdPairs + reverseFlows + (floodRate.empty() ? 0 : 1) + (probeGap > 0 ? 1 : 0);
    NS_ABORT_MSG_IF(pairs > 250, "at most 250 host pairs");
    NodeContainer left;
    NodeContainer right;
    NodeContainer routers;
    left.Create(pairs);
    right.Create(pairs);
    routers.Create(2);

    InternetStackHelper stack;
    Ipv4StaticRoutingHelper staticRouting;
    stack.SetRoutingHelper(staticRouting);
    stack.SetIpv6StackInstall(false);
    stack.Install(left);
    stack.Install(right);
    stack.Install(routers);

    PointToPointHelper access;
    access.SetDeviceAttribute("DataRate", StringValue(accessRate));
    access.SetChannelAttribute("Delay", TimeValue(aDelay));
    access.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1000000p"));

    PointToPointHelper trunk;
    trunk.SetDeviceAttribute("DataRate", StringValue(bottleneckRate));
    trunk.SetChannelAttribute("Delay", TimeValue(bDelay));
    trunk.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1p"));

    TrafficControlHelper tc;
    ConfigureAqm(tc,
                 {aqm, buffer, Time(target), Time(interval), minTh, maxTh, qw, linterm, redBytes, ipSize,
                  bottleneckRate, bDelay});
    TrafficControlHelper tcDeep;
    tcDeep.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue("1000000p"));

    NetDeviceContainer trunkDev = trunk.Install(routers);
    Ptr<QueueDisc> forward = tc.Install(trunkDev.Get(0)).Get(0);
    Ptr<QueueDisc> backward = (aqmReverse ? tc : tcDeep).Install(trunkDev.Get(1)).Get(0);
    Ipv4AddressHelper addr;
    addr.SetBase("10.3.0.0", "255.255.255.0");
    Ipv4InterfaceContainer trunkIf = addr.Assign(trunkDev);

    TrafficControlHelper plain;
    std::vector<Ipv4Address> leftAddr(pairs);
    std::vector<Ipv4Address> rightAddr(pairs);
    for (uint32_t side = 0; side < 2; ++side)
    {
        NodeContainer& hostsHere = side == 0 ? left : right;
        for (uint32_t i = 0; i < pairs; ++i)
        {
            NetDeviceContainer d = access.Install(hostsHere.Get(i), routers.Get(side));
            addr.SetBase(Ipv4Address((10u << 24) | ((1 + side) << 16) | (i << 8)),
                         Ipv4Mask("255.255.255.0"));
            Ipv4InterfaceContainer f = addr.Assign(d);
            plain.Uninstall(d); // Assign() put a default queue disc there; we want none
            (side == 0 ? leftAddr : rightAddr)[i] = f.GetAddress(0);
            staticRouting.GetStaticRouting(hostsHere.Get(i)->GetObject<Ipv4>())
                ->SetDefaultRoute(f.GetAddress(1), 1);
        }
        staticRouting.GetStaticRouting(routers.Get(side)->GetObject<Ipv4>())
            ->SetDefaultRoute(trunkIf.GetAddress(1 - side), 1);
    }

    // ---- traffic
    Ptr<UniformRandomVariable> start = CreateObject<UniformRandomVariable>();
    start->SetAttribute("Max", DoubleValue(startSpread));
    std::vector<Ptr<PacketSink>> sinks;
    std::vector<double> startAt;
    std::map<uint32_t, SequenceNumber32> highest; // by flow, behind the last byte sent
    double floodAt = 0;
    g_received.assign(flows + reverseFlows + 1, 0);
    for (uint32_t k = 0; k < flows + reverseFlows; ++k)
    {
        const bool fwd = k < flows;
        const uint32_t pair = fwd ? k % fwdPairs : fwdPairs + (k - flows);
        const uint16_t port = static_cast<uint16_t>(5000 + k);
        Ptr<Node> from = fwd ? left.Get(pair) : right.Get(pair);
        Ptr<Node> to = fwd ? right.Get(pair) : left.Get(pair);
        const Ipv4Address dst = fwd ? rightAddr[pair] : leftAddr[pair];

        PacketSinkHelper sink("ns3::TcpSocketFactory",
                              InetSocketAddress(Ipv4Address::GetAny(), port));
        ApplicationContainer sa = sink.Install(to);
        sa.Start(Seconds(0));
        sinks.push_back(DynamicCast<PacketSink>(sa.Get(0)));
        sinks.back()->TraceConnectWithoutContext("Rx", MakeBoundCallback(&OnReceived, k));

        BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(dst, port));
        bulk.SetAttribute("MaxBytes", UintegerValue(0));
        bulk.SetAttribute("SendSize", UintegerValue(sendSize));
        startAt.push_back(start->GetValue());
        ApplicationContainer ba = bulk.Install(from);
        ba.Start(Seconds(startAt.back()));
        // Its socket is there once it has started.
        Simulator::Schedule(Seconds(startAt.back()) + NanoSeconds(1), &FollowSegments,
                            DynamicCast<BulkSendApplication>(ba.Get(0)), &highest[k]);
    }

    if (!floodRate.empty())
    {
        const uint32_t pair = fwdPairs + reverseFlows;
        PacketSinkHelper sink("ns3::UdpSocketFactory",
                              InetSocketAddress(Ipv4Address::GetAny(), 4999));
        ApplicationContainer sa = sink.Install(right.Get(pair));
        sa.Start(Seconds(0));
        sa.Get(0)->TraceConnectWithoutContext(
            "Rx", MakeBoundCallback(&OnReceived, flows + reverseFlows));
        OnOffHelper datagrams("ns3::UdpSocketFactory", InetSocketAddress(rightAddr[pair], 4999));
        datagrams.SetConstantRate(DataRate(floodRate), floodSize);
        floodAt = floodStart + start->GetValue();
        datagrams.Install(left.Get(pair)).Start(Seconds(floodAt));
    }

    Prober probe;
    if (probeGap > 0)
    {
        const uint32_t p = pairs - 1;
        probe.Setup(left.Get(p), right.Get(p), rightAddr[p], Seconds(probeGap), probeSize);
        Simulator::Schedule(Seconds(0.01), &Prober::Send, &probe);
    }

    if (collect)
    {
        g_sojourn.v.reserve(static_cast<size_t>(
            std::min(rate * duration / 8 / ipSize * 1.05 + 1000, 6e7)));
        forward->TraceConnectWithoutContext("SojournTime", MakeCallback(&OnSojourn));
        forward->TraceConnectWithoutContext("DropAfterDequeue", MakeCallback(&OnDropAfterDequeue));
    }

    for (const Ptr<QueueDisc>& disc : {forward, backward})
    {
        disc->TraceConnectWithoutContext("Drop", MakeCallback(&OnDrop));
    }

    // half-way mark: the second half shows the cost without the start-up's burst of losses
    double halfCpu = 0;
    uint64_t halfPackets = 0;
    Simulator::Schedule(Seconds(duration / 2), +[](Ptr<QueueDisc> q, double* cpu, uint64_t* n) {
        *cpu = CpuUser() + CpuSys();
        *n = q->GetStats().nTotalSentPackets;
    }, forward, &halfCpu, &halfPackets);

    // ---- run
    Simulator::Stop(Seconds(duration));
    const double u0 = CpuUser();
    const double s0 = CpuSys();
    const auto t0 = std::chrono::steady_clock::now();
    Simulator::Run();
    const double wall =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - t0).count();
    const double user = CpuUser() - u0;
    const double sys = CpuSys() - s0;
    const long peak = PeakKiB();
    const double cpuEnd = u0 + user + s0 + sys;
    const double setup = std::chrono::duration<double>(t0 - setupBegin).count();
    const uint64_t events = Simulator::GetEventCount();

    // ---- report
    const QueueDisc::Stats& st = forward->GetStats();
    const uint64_t pkts = st.nTotalSentPackets;
    const double util = (st.nTotalSentBytes + 2.0 * pkts) * 8 / (rate * duration) * 100; // +2: PPP
    const double dropPct =
        st.nTotalReceivedPackets ? 100.0 * DropsOf(st) / st.nTotalReceivedPackets : 0;
    const double meanDelay = g_sojourn.Mean();
    g_sojourn.Sort();

    // What receivers got in the measured time, each since its flow began; the probe's answers too.
    double received = g_probeRtt.v.size() * 8e-6 * probeSize / (duration - g_measureFrom);
    double share = 0;
    double share2 = 0;
    for (uint32_t k = 0; k < g_received.size(); ++k)
    {
        const double from = k < startAt.size() ? startAt[k] : floodAt;
        const double mbps = g_received[k] * 8e-6 / (duration - std::max(g_measureFrom, from));
        received += mbps;
        share += k < flows ? mbps : 0;
        share2 += k < flows ? mbps * mbps : 0;
    }
    std::vector<double> good;
    double sum = 0;
    double sum2 = 0;
    double reverseSum = 0;
    for (uint32_t k = 0; k < flows + reverseFlows; ++k)
    {
        const double mbps = sinks[k]->GetTotalRx() * 8e-6 / (duration - startAt[k]);
        good.push_back(mbps);
        if (k < flows)
        {
            sum += mbps;
            sum2 += mbps * mbps;
        }
        else
        {
            reverseSum += mbps;
        }
    }
    const double jain = sum2 > 0 ? sum * sum / (flows * sum2) : 0;

    std::printf("{\"sim\":\"%s\",\"aqm\":\"%s\",\"tcp\":\"%s\",\"sack\":%d,\"flows\":%u,"
                "\"rate\":\"%s\",\"rtt_ms\":%.3f,\"buffer\":%u,\"segment\":%u,\"duration\":%g,"
                "\"seed\":%u,\"ssthresh\":%llu,",
                NS3_LABEL, aqm.c_str(), tcp.c_str(), sack ? 1 : 0, flows, bottleneckRate.c_str(),
                rtt * 1e3, buffer, segment, duration, seed, (unsigned long long)ssthresh);
    std::printf("\"util_pct\":%.3f,\"drop_pct\":%.4f,\"drops\":%llu,", util, dropPct,
                (unsigned long long)DropsOf(st));
    if (collect)
    {
        std::printf("\"delay_mean_ms\":%.4f,\"delay_p50_ms\":%.4f,\"delay_p95_ms\":%.4f,"
                    "\"delay_p99_ms\":%.4f,",
                    meanDelay, g_sojourn.Quantile(0.5), g_sojourn.Quantile(0.95),
                    g_sojourn.Quantile(0.99));
    }
    std::printf("\"goodput_mbps\":%.4f,\"jain\":%.5f,", sum, jain);
    if (reverseFlows > 0)
    {
        const QueueDisc::Stats& rs = backward->GetStats();
        std::printf("\"reverse_flows\":%u,\"reverse_goodput_mbps\":%.4f,\"reverse_drops\":%llu,",
                    reverseFlows, reverseSum, (unsigned long long)DropsOf(rs));
    }
    if (probeGap > 0)
    {
        const double m = g_probeRtt.Mean();
        g_probeRtt.Sort();
        std::printf("\"probe_sent\":%llu,\"probe_got\":%zu,\"probe_rtt_mean_ms\":%.4f,"
                    "\"probe_rtt_p50_ms\":%.4f,\"probe_rtt_p95_ms\":%.4f,"
                    "\"probe_rtt_p99_ms\":%.4f,\"probe_rtt_max_ms\":%.4f,",
                    (unsigned long long)g_probeSent, g_probeRtt.v.size(), m,
                    g_probeRtt.Quantile(0.5), g_probeRtt.Quantile(0.95),
                    g_probeRtt.Quantile(0.99), g_probeRtt.Quantile(1));
    }
    std::printf("\"measured\":{\"received_mbps\":%.4f,\"drops\":%llu,\"retransmissions\":%llu,"
                "\"jain\":%.5f},",
                received, (unsigned long long)g_drops,
                (unsigned long long)g_retransmissions,
                share2 > 0 ? share * share / (flows * share2) : 0.0);
    if (eachFlow)
    {
        std::printf("\"flow_goodput_mbps\":[");
        for (size_t i = 0; i < good.size(); ++i)
        {
            std::printf("%s%.4f", i ? "," : "", good[i]);
        }
        std::printf("],");
    }
    std::printf("\"packets\":%llu,\"events\":%llu,\"wall_s\":%.4f,\"user_s\":%.4f,\"sys_s\":%.4f,"
                "\"setup_s\":%.4f,\"peak_mib\":%.1f,\"cpu_ns_per_packet\":%.1f,"
                "\"half2_cpu_ns_per_packet\":%.1f,\"half2_util_pct\":%.3f,"
                "\"events_per_s\":%.0f,\"packets_per_s\":%.0f,\"sim_s_per_wall_s\":%.4f}\n",
                (unsigned long long)pkts, (unsigned long long)events, wall, user, sys, setup,
                peak / 1024.0, pkts ? (user + sys) * 1e9 / pkts : 0,
                pkts > halfPackets ? (cpuEnd - halfCpu) * 1e9 / (pkts - halfPackets) : 0,
                (pkts - halfPackets) * (ipSize + 2.0) * 8 / (rate * duration / 2) * 100,
                events / wall, pkts / wall,
                duration / wall);

    Simulator::Destroy();
    return 0;
}
