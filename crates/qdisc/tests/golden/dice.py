"""The named random streams of Sojourn, from the publications of their parts.

FNV-1a 64 (Fowler, Noll, Vo), the finaliser of SplitMix64 (Steele, Lea, Flood 2014), and
PCG XSL RR 128/64 with a multiplicative congruential generator (O'Neill 2014).
"""

M64 = (1 << 64) - 1
M128 = (1 << 128) - 1
PCG_MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645


def mix(x):
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & M64
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & M64
    return x ^ (x >> 31)


class Stream:
    def __init__(self, seed, name):
        h = 0xCBF29CE484222325
        for b in name.encode():
            h = ((h ^ b) * 0x100000001B3) & M64
        low = mix(seed ^ mix(h))
        high = mix(((low + 0x9E3779B97F4A7C15) & M64) ^ h)
        self.state = (low | (high << 64)) | 1

    def bits(self):
        self.state = (self.state * PCG_MULTIPLIER) & M128
        rot = self.state >> 122
        x = (self.state >> 64 ^ self.state) & M64
        return ((x >> rot) | (x << (64 - rot))) & M64

    def unit(self):
        return (self.bits() >> 11) / (1 << 53)
