//! Tables of strings: what is taken and what is refused.

/// Strings as in OpenWrt's SQM scripts, the bufferbloat.net wiki, man pages and Flent's
/// testbeds, and how we show them.
pub(super) const TAKEN: &[(&str, &str)] = &[
    ("pfifo", "pfifo limit 1000"),
    ("pfifo limit 490", "pfifo limit 490"),
    ("bfifo", "bfifo limit 1514000b"),
    ("bfifo limit 64kb", "bfifo limit 64Kb"),
    ("pfifo_head_drop limit 3", "pfifo_head_drop limit 3"),
    (
        "cobalt noecn",
        "cobalt limit 1000 target 5ms interval 100ms noecn",
    ),
    (
        "cake",
        "cake bandwidth unlimited diffserv3 triple-isolate nonat nowash no-ack-filter split-gso \
             rtt 100ms raw overhead 0",
    ),
    (
        "cake ce_threshold 1ms ce_threshold_selector 0x1/0x3",
        "cake bandwidth unlimited diffserv3 triple-isolate nonat nowash no-ack-filter split-gso \
             rtt 100ms raw overhead 0 ce_threshold 1ms ce_threshold_selector 0x1/0x3",
    ),
    (
        "cake bandwidth 20mbit docsis ack-filter",
        "cake bandwidth 20Mbit diffserv3 triple-isolate nonat nowash ack-filter split-gso \
             rtt 100ms noatm overhead 18 mpu 64",
    ),
    (
        "dualpi2",
        "dualpi2 limit 10000 target 15ms tupdate 16ms alpha 0.16015625 beta 3.19921875 \
         step_thresh 1ms min_qlen_step 0 coupling_factor 2 drop_on_overload drop_dequeue \
         classic_protection 10% l4s_ect split_gso",
    ),
    (
        "dualpi2 limit 500p step_thresh 5p alpha 0.16 overflow drop_enqueue any_ect no_split_gso",
        "dualpi2 limit 500 target 15ms tupdate 16ms alpha 0.15625 beta 3.19921875 \
         step_thresh 5p min_qlen_step 0 coupling_factor 2 overflow drop_enqueue \
         classic_protection 10% any_ect no_split_gso",
    ),
    (
        "cake_mq queues 4 bandwidth 1gbit",
        "cake_mq bandwidth 1Gbit queues 4 diffserv3 triple-isolate nonat nowash no-ack-filter \
             split-gso rtt 100ms raw overhead 0",
    ),
    (
        "cake pppoe-ptm ether-vlan ether-vlan bandwidth 50mbit besteffort satellite",
        "cake bandwidth 50Mbit besteffort triple-isolate nonat nowash no-ack-filter split-gso \
             rtt 1s ptm overhead 38",
    ),
    (
        "cake unlimited precedence interplanetary conservative overhead -14 egress flowblind",
        "cake bandwidth unlimited precedence flowblind nonat nowash no-ack-filter split-gso \
             rtt 1000s atm overhead -14",
    ),
    (
        "qdisc cake 8011: dev eth0 root refcnt 2 bandwidth 20Mbit besteffort dual-srchost nonat \
             nowash ack-filter split-gso rtt 100ms noatm overhead 18 mpu 64 memlimit 32Mb ",
        "cake bandwidth 20Mbit besteffort dual-srchost nonat nowash ack-filter split-gso \
             rtt 100ms noatm overhead 18 mpu 64 memlimit 32Mb",
    ),
    (
        "cake bandwidth 0 autorate-ingress",
        "cake bandwidth unlimited autorate-ingress diffserv3 triple-isolate nonat nowash \
             no-ack-filter split-gso rtt 100ms raw overhead 0",
    ),
    (
        "cake nat fwmark 0x0f wash",
        "cake bandwidth unlimited diffserv3 triple-isolate nat wash no-ack-filter split-gso \
             rtt 100ms raw overhead 0 fwmark 0xf",
    ),
    (
        "fq_pie ack-filter set-associative triple-isolate",
        "fq_pie limit 10240 flows 1024 target 15ms tupdate 15ms alpha 2 beta 20 \
             memory_limit 32Mb ecn_prob 10 triple-isolate set-associative ack-filter",
    ),
    (
        "fq_codel nonat no-ack-filter dual-dsthost flows 16",
        "fq_codel limit 10240 flows 16 target 5ms interval 100ms memory_limit 32Mb ecn \
             drop_batch 64 dual-dsthost",
    ),
    ("codel", "codel limit 1000 target 5ms interval 100ms"),
    (
        "codel ecn limit 0x64 interval 30ms target 2ms",
        "codel limit 100 target 2ms interval 30ms ecn",
    ),
    (
        "codel target 5000us ce_threshold 1ms",
        "codel limit 1000 target 5ms ce_threshold 1ms interval 100ms",
    ),
    (
        "fq_codel ce_threshold 1ms ce_threshold_selector 0x1/0x3",
        "fq_codel limit 10240 flows 1024 target 5ms ce_threshold 1ms \
         ce_threshold_selector 0x1/0x3 interval 100ms memory_limit 32Mb ecn drop_batch 64",
    ),
    (
        "pie",
        "pie limit 1000 target 15ms tupdate 15ms alpha 2 beta 20",
    ),
    (
        "pie law dummynet dq_rate_estimator",
        "pie limit 1000 target 15ms tupdate 15ms alpha 2 beta 20 dq_rate_estimator law dummynet",
    ),
    (
        "pie limit 100 target 20ms tupdate 30ms ecn bytemode",
        "pie limit 100 target 20ms tupdate 30ms alpha 2 beta 20 ecn bytemode",
    ),
    (
        "gsp threshold 2500us interval 50ms alpha 3",
        "gsp limit 1000 threshold 2.5ms interval 50ms alpha 3 tau 1s min_interval 1ms",
    ),
    (
        "adth",
        "adth limit 1000 target 200ms sampling 50ms min 1 fmin 0.1 fmax 1 drop head full tail \
         purge",
    ),
    (
        "adth target 100ms drop tail nopurge over pfifo_head_drop limit 50",
        "adth limit 50 target 100ms sampling 25ms min 1 fmin 0.1 fmax 1 drop tail full head \
         nopurge",
    ),
    (
        "gsp ecn limit 50 interval 500us",
        "gsp limit 50 threshold 5ms interval 500us alpha 2 tau 1s min_interval 500us ecn",
    ),
    (
        "fq_gsp flows 16 quantum 300",
        "fq_gsp limit 10240 flows 16 quantum 300 threshold 5ms interval 200ms alpha 2 tau 1s \
             min_interval 1ms memory_limit 32Mb",
    ),
    (
        "steer",
        "steer util 99% delay 30ms over gsp limit 1000 threshold 5ms interval 200ms alpha 2 \
             tau 1s min_interval 1ms",
    ),
    (
        "steer rate 10gbit util 94 delay 2500us ceiling 95% over fq_codel target 1ms noecn",
        "steer rate 10Gbit util 94% delay 2.5ms ceiling 95% over fq_codel limit 10240 flows 1024 \
             target 1ms interval 100ms memory_limit 32Mb noecn drop_batch 64",
    ),
    (
        "fq_codel",
        "fq_codel limit 10240 flows 1024 target 5ms interval 100ms memory_limit 32Mb ecn \
             drop_batch 64",
    ),
    (
        "fq_codel limit 1001 target 5ms interval 100ms quantum 300 noecn",
        "fq_codel limit 1001 flows 1024 quantum 300 target 5ms interval 100ms \
             memory_limit 32Mb noecn drop_batch 64",
    ),
    (
        "tc qdisc add dev eth0 root fq_codel quantum 300 limit 1200 flows 4096 memory_limit 4mb",
        "fq_codel limit 1200 flows 4096 quantum 300 target 5ms interval 100ms \
             memory_limit 4Mb ecn drop_batch 64",
    ),
    (
        "qdisc replace dev ifb4eth0 root handle 1: codel ce_threshold 2.5ms ecn",
        "codel limit 1000 target 5ms ce_threshold 2.5ms interval 100ms ecn",
    ),
    (
        "qdisc fq_codel 8001: dev eth0 root refcnt 2 limit 10240p flows 1024 quantum 1514 \
             target 5ms interval 100ms memory_limit 32Mb ecn drop_batch 64 ",
        "fq_codel limit 10240 flows 1024 quantum 1514 target 5ms interval 100ms \
             memory_limit 32Mb ecn drop_batch 64",
    ),
    (
        "fq_pie ecn_prob 20% ecn quantum 1514b",
        "fq_pie limit 10240 flows 1024 quantum 1514 target 15ms tupdate 15ms alpha 2 \
             beta 20 memory_limit 32Mb ecn_prob 20 ecn",
    ),
    (
        "red limit 400000 min 30000 max 90000 avpkt 1000 burst 55 ecn adaptive \
             bandwidth 10Mbit",
        "red limit 400000b min 30000b max 90000b avpkt 1000 burst 55 probability 0.02 \
             bandwidth 10Mbit adaptive ecn",
    ),
    (
        "red limit 120000 avpkt 1000",
        "red limit 120000b min 10000b max 30000b avpkt 1000 burst 16 probability 0.02 \
             bandwidth 10Mbit",
    ),
    (
        "red limit 60kb min 15kb avpkt 1000 probability .1 harddrop",
        "red limit 60Kb min 15Kb max 45Kb avpkt 1000 burst 25 probability 0.1 \
             bandwidth 10Mbit harddrop",
    ),
    (
        "red min 5p max 15p limit 1000p weight 0.002 probability 0.1 gentle wait spare",
        "red limit 1000p min 5p max 15p avpkt 500 weight 0.002 probability 0.1 \
             bandwidth 10Mbit gentle wait spare",
    ),
    (
        "red min 2500 max 7500 limit 1500000 weight 0.002 avpkt 500 bytemode",
        "red limit 1500000b min 2500b max 7500b avpkt 500 weight 0.002 probability 0.02 \
             bandwidth 10Mbit bytemode",
    ),
    // DCTCP's marking at one threshold.
    (
        "red limit 1000000 min 30000 max 30001 avpkt 1500 burst 21 probability 1 ecn",
        "red limit 1000000b min 30000b max 30001b avpkt 1500 burst 21 probability 1 \
             bandwidth 10Mbit ecn",
    ),
    (
        "htb rate 10mbit over codel",
        "htb rate 10Mbit burst 1600b over codel limit 1000 target 5ms interval 100ms",
    ),
    (
        "htb rate 1mbit buffer 3kb",
        "htb rate 1Mbit burst 3Kb over pfifo limit 1000",
    ),
    (
        "tbf rate 20mbit burst 5kb latency 50ms",
        "tbf rate 20Mbit burst 5Kb limit 130120b",
    ),
    (
        "tbf rate 0.5mbit burst 5kb latency 70ms peakrate 1mbit minburst 1540",
        "tbf rate 500Kbit burst 5Kb peakrate 1Mbit mtu 1540b limit 9495b",
    ),
    (
        "tbf rate 1mbit burst 5kb linklayer adsl overhead 10 latency 50ms",
        "tbf rate 1Mbit burst 5Kb overhead 10 linklayer atm limit 11370b",
    ),
    (
        "cake mpu 64 raw diffserv pppoe-ptm",
        "cake bandwidth unlimited diffserv4 triple-isolate nonat nowash no-ack-filter split-gso \
             rtt 100ms raw ptm overhead 30 mpu 64",
    ),
    (
        "tbf rate 256kbit buffer 1600/8 lat 11.2ms mpu 64 overhead 18 linklayer ethernet",
        "tbf rate 256Kbit burst 1600b mpu 64 overhead 18 limit 1958b",
    ),
    (
        "tbf rate 10mbit burst 3028 over fq_codel noecn",
        "tbf rate 10Mbit burst 3028b over fq_codel limit 10240 flows 1024 target 5ms \
             interval 100ms memory_limit 32Mb noecn drop_batch 64",
    ),
    (
        "  tbf rate 1gbit burst 64k over tbf rate 2gbit burst 2k over pfifo limit 7p\n",
        "tbf rate 1Gbit burst 64Kb over tbf rate 2Gbit burst 2Kb over pfifo limit 7",
    ),
];

/// Strings that are refused, the whole sentence, and the word it points at (nothing: the end).
pub(super) const REFUSED: &[(&str, &str, &str)] = &[
    (
        "",
        "the discipline is missing; it is one of pfifo, bfifo, pfifo_head_drop, red, codel, \
             cobalt, pie, gsp, adth, fq_codel, fq_pie, fq_gsp, fq_adth, steer, cake, cake_mq, \
             dualpi2, htb, tbf",
        "",
    ),
    (
        "fq_coddle limit 3",
        "unknown discipline `fq_coddle`; did you mean `fq_codel`?",
        "fq_coddle",
    ),
    (
        "tc qdisc add dev eth0 root qfq limit 100",
        "`qfq` is not in Sojourn yet; there are pfifo, bfifo, pfifo_head_drop, red, codel, \
             cobalt, pie, gsp, adth, fq_codel, fq_pie, fq_gsp, fq_adth, steer, cake, cake_mq, \
             dualpi2, htb, tbf",
        "qfq",
    ),
    (
        "wondershaper",
        "unknown discipline `wondershaper`; there are pfifo, bfifo, pfifo_head_drop, red, \
             codel, cobalt, pie, gsp, adth, fq_codel, fq_pie, fq_gsp, fq_adth, steer, cake, cake_mq, \
             dualpi2, htb, tbf",
        "wondershaper",
    ),
    (
        "python:own.py:OneOfN n=5",
        "`python:own.py:OneOfN` is a Python class, which this command does not load; \
         `sojourn run`, `check`, `evaluate` and `reproduce` and the Python package do, in the \
         simulator",
        "python:own.py:OneOfN",
    ),
    (
        "rust:libslope.so:Slope low=1ms",
        "`rust:libslope.so:Slope` is an AQM of a library, which this command does not load; \
         `sojourn run`, `check`, `evaluate` and `reproduce` do, in the simulator",
        "rust:libslope.so:Slope",
    ),
    (
        "steer util 95% ceiling 94% over gsp",
        "`ceiling` is below `util`, which is 95 %; it can be 95 to 100 %",
        "94%",
    ),
    (
        "steer util 99% over pfifo limit 100",
        "pfifo has no delay target to steer; it can be codel, pie, gsp, adth, fq_codel, fq_pie, fq_gsp, fq_adth, dualpi2",
        "over",
    ),
    (
        "steer policy util 99%",
        "`policy` is not an option of steer; it has rate, util, delay, ceiling, over",
        "policy",
    ),
    (
        "adth target 10ms sampling 20ms",
        "`sampling` of adth is longer than `target`; it can be up to 10ms",
        "20ms",
    ),
    (
        "adth fmin 0.5 fmax 0.4",
        "`fmin` of adth is above `fmax`; it can be up to 0.4",
        "0.5",
    ),
    (
        "adth over codel",
        "adth does not bound codel; it can be pfifo or pfifo_head_drop",
        "over",
    ),
    (
        "adth drop front",
        "`front` is not what `drop` takes; one of head, tail",
        "front",
    ),
    (
        "gsp interval 1ms min_interval 2ms",
        "`min_interval` of gsp is longer than `interval`; it can be up to 1ms",
        "2ms",
    ),
    (
        "cake nat nonat",
        "`nat` or `nonat` is given twice; which one is meant? Leave out the other",
        "nonat",
    ),
    (
        "cake fwmark some",
        "`some` is not what `fwmark` takes; a whole number, 0 to 4294967295",
        "some",
    ),
    (
        "fq_pie triple-isolate dsthost",
        "`dsthost` is one too many of triple-isolate, dual-srchost, dual-dsthost, hosts, \
             srchost, dsthost, flowblind; which one is meant? Leave out the other",
        "dsthost",
    ),
    (
        "fq_gsp ack-filtre",
        "`ack-filtre` is not an option of fq_gsp; did you mean `ack-filter`?",
        "ack-filtre",
    ),
    (
        "cake_mq queues 65 bandwidth 1gbit",
        "`queues 65` is too large; it can be 1 to 64",
        "65",
    ),
    (
        "cake_mq bandwidth 1gbit autorate-ingress",
        "`autorate-ingress` of cake_mq is not in Sojourn; leave it out: no queue sees all \
         arrivals; Linux refuses it too",
        "autorate-ingress",
    ),
    (
        "cake overhead -65",
        "`overhead -65` is too small; a whole number, -64 to 256",
        "-65",
    ),
    (
        "cake overhead 257",
        "`overhead 257` is too large; a whole number, -64 to 256",
        "257",
    ),
    (
        "cake mpu 257",
        "`mpu 257` is too large; it can be 0 to 256",
        "257",
    ),
    (
        "cake overhead docsis",
        "`overhead` needs a value; a whole number, -64 to 256",
        "docsis",
    ),
    (
        "cake diffserv4 besteffort",
        "`besteffort` is one too many of diffserv3, diffserv4, diffserv8, besteffort, precedence; \
             which one is meant? Leave out the other",
        "besteffort",
    ),
    (
        "cake unlimited bandwidth 1mbit",
        "`bandwidth` and `unlimited` contradict each other; give one of them",
        "unlimited",
    ),
    (
        "cake diffserv5",
        "`diffserv5` is not an option of cake; did you mean `diffserv3`?",
        "diffserv5",
    ),
    (
        "codel intervall 100ms",
        "`intervall` is not an option of codel; did you mean `interval`?",
        "intervall",
    ),
    (
        "codel alpha 2",
        "`alpha` is not an option of codel; it has limit, target, ce_threshold, interval, \
             ecn, noecn, law",
        "alpha",
    ),
    (
        "codel target 5mbit",
        "`5mbit` is not what `target` takes; a time with s, ms, us or ns, for example \
             `target 5ms`",
        "5mbit",
    ),
    (
        "tbf rate 20ms burst 5kb latency 50ms",
        "`20ms` is not what `rate` takes; a rate with bit, kbit, mbit or gbit, for example \
             `rate 20mbit`",
        "20ms",
    ),
    (
        "tbf rate 50% burst 5kb latency 50ms",
        "`rate` cannot be 50%: the rate of the link is not known here; a rate with bit, \
             kbit, mbit or gbit, for example `rate 20mbit`",
        "50%",
    ),
    (
        "codel target",
        "`target` needs a value; a time with s, ms, us or ns, for example `target 5ms`",
        "",
    ),
    (
        "codel target interval 100ms",
        "`target` needs a value; a time with s, ms, us or ns, for example `target 5ms`",
        "interval",
    ),
    (
        "pfifo limit 10 limit 20",
        "`limit` is given twice; which one is meant? Leave out the other",
        "limit",
    ),
    (
        "codel ecn noecn",
        "`ecn` or `noecn` is given twice; which one is meant? Leave out the other",
        "noecn",
    ),
    (
        "pie alpha 40",
        "`alpha 40` is too large; it can be 0 to 32",
        "40",
    ),
    (
        "pfifo limit 0",
        "`limit 0` is too small; it can be 1 to 4294967295",
        "0",
    ),
    (
        "fq_codel quantum 64",
        "`quantum 64` is too small; it can be 256 to 1048576",
        "64",
    ),
    (
        "fq_codel flows 65537",
        "`flows 65537` is too large; it can be 1 to 65536",
        "65537",
    ),
    (
        "fq_pie ecn_prob 100",
        "`ecn_prob 100` is too large; it can be 1 to 99",
        "100",
    ),
    (
        "fq_codel ce_threshold_selector 0x4/0xfc",
        "`0x4/0xfc` is not what `ce_threshold_selector` takes; one of 0/0, 0x1/0x3, 0x2/0x3",
        "0x4/0xfc",
    ),
    (
        "red limit 400000",
        "red needs `avpkt`; for example `avpkt 1000`",
        "",
    ),
    (
        "red avpkt 1000",
        "red needs `limit`; for example `limit 400000`",
        "",
    ),
    (
        "red limit 400000 min 30000 max 90000 avpkt 1000 burst 20",
        "`burst` of red is too small: 20 packets; it must be at least min/avpkt: 30",
        "20",
    ),
    (
        "fq_codel target 5",
        "`target 5` needs a unit; a time with s, ms, us or ns, for example `target 5ms`",
        "5",
    ),
    (
        "htb rate 20 over fq_codel",
        "`rate 20` needs a unit; a rate with bit, kbit, mbit or gbit, for example `rate 20mbit`",
        "20",
    ),
    (
        "red limit 400000 min 900 max 90000 avpkt 1000",
        "`min` of red is too small: it is not above one mean packet; it must be more than \
             avpkt, for example 5000",
        "900",
    ),
    (
        "red limit 400000 min 90000 max 30000 avpkt 1000",
        "`max` of red must not be below `min`, which is 90000; give `min` and `max` with \
             0 < min <= max",
        "30000",
    ),
    (
        "red limit 1000p min 5000 max 15p",
        "`min` is in another unit than the options before it; give `limit`, `min` and `max` \
             all in bytes or all in packets (`5p`)",
        "5000",
    ),
    (
        "red limit 1000p min 5p weight 0.002 burst 9",
        "`weight` and `burst` say the same thing in two ways; give one of them",
        "0.002",
    ),
    (
        "red limit 1000p probability 2",
        "`2` is not what `probability` takes; a number above 0 and up to 1, for example \
             `probability 0.02`",
        "2",
    ),
    (
        "htb burst 5kb",
        "htb needs `rate`; for example `rate 20mbit`",
        "",
    ),
    (
        "tbf burst 5kb latency 50ms",
        "tbf needs `rate`; for example `rate 20mbit`",
        "",
    ),
    (
        "tbf rate 1mbit latency 50ms",
        "tbf needs `burst`; for example `burst 5kb`",
        "",
    ),
    (
        "tbf rate 1mbit burst 5kb",
        "tbf needs `limit`, `latency` or `over`; for example `latency 50ms` or \
             `over fq_codel`",
        "",
    ),
    (
        "tbf rate 1mbit burst 5kb latency 50ms limit 3000",
        "tbf cannot have both `limit` and `latency`; give one of them",
        "50ms",
    ),
    (
        "tbf rate 1mbit burst 5kb latency 50ms over pfifo",
        "tbf cannot have both `latency` and `over`; the discipline after `over` has its own \
             limit",
        "50ms",
    ),
    (
        "tbf rate 1mbit burst 5kb peakrate 2mbit latency 50ms",
        "tbf needs `mtu`; for example `mtu 1540`",
        "",
    ),
    (
        "tbf rate 1mbit burst 5kb linklayer ptm latency 50ms",
        "`ptm` is not what `linklayer` takes; one of ethernet, atm, adsl",
        "ptm",
    ),
    (
        "red limit 400000 avpkt 1000 nodrop",
        "`nodrop` of red has no meaning without `ecn`; give `ecn` too, or leave `nodrop` out",
        "nodrop",
    ),
    (
        "cake autorate-ingress bandwidth 20mbit",
        "a rate after `autorate-ingress` switches it off; give `autorate-ingress` last, or leave \
             it out",
        "autorate-ingress",
    ),
    (
        "tc qdisc add dev eth0 root handle 1: stab overhead 44 linklayer atm fq_codel",
        "`stab` is not in Sojourn; give its `overhead` and `mpu` to cake or tbf, and `linklayer \
             atm` as `atm` (cake) or as it is (tbf)",
        "stab",
    ),
    (
        "tbf rate 1mbit burst 5kb over fq_codel targte 5ms",
        "`targte` is not an option of fq_codel; did you mean `target`?",
        "targte",
    ),
    (
        "tbf rate 1mbit burst 5kb over",
        "the discipline is missing; it is one of pfifo, bfifo, pfifo_head_drop, red, codel, \
             cobalt, pie, gsp, adth, fq_codel, fq_pie, fq_gsp, fq_adth, steer, cake, cake_mq, \
             dualpi2, htb, tbf",
        "",
    ),
    (
        "tc qdisc add dev",
        "`dev` needs a value; leave it out, or name the discipline after it",
        "",
    ),
];
