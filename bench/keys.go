package bench

import (
	"math"
	"math/rand/v2"
	"strconv"
)

// newRNG returns stream number n of a seed. Streams do not overlap in practice.
func newRNG(seed, n uint64) *rand.Rand {
	mix := rand.NewPCG(seed, n)
	return rand.New(rand.NewPCG(mix.Uint64(), mix.Uint64()))
}

// keyGen draws key numbers. Copies share only zipf, which is read-only.
type keyGen struct {
	rng  *rand.Rand
	n    int
	own  int     // drawn when n is 0
	zipf *zipf   // nil: uniform or hotspot
	hot  int     // the first so many names are hot; 0: uniform
	heat float64 // share of the draws on hot names
}

// newKeyGen returns the generator of stream n. own is the key with distribution own. z comes
// from newZipf, once per run.
func newKeyGen(cfg Config, z *zipf, n uint64, own int) keyGen {
	if cfg.Dist.kind == distOwn {
		return keyGen{own: own}
	}
	g := keyGen{rng: newRNG(cfg.Seed, cfg.stream(n)), n: cfg.Keys, zipf: z}
	if cfg.Dist.kind == distHotspot {
		g.hot = max(int(math.Ceil(cfg.Dist.args[0]*float64(cfg.Keys)-1e-6)), 1) // 0.07*100 is not quite 7
		g.heat = cfg.Dist.args[1]
	}
	return g
}

func (g *keyGen) next() int {
	switch {
	case g.n == 0:
		return g.own
	case g.zipf != nil:
		return g.zipf.rank(g.rng) - 1
	case g.hot > 0 && g.hot < g.n:
		if g.rng.Float64() < g.heat {
			return g.rng.IntN(g.hot)
		}
		return g.hot + g.rng.IntN(g.n-g.hot)
	default:
		return g.rng.IntN(g.n)
	}
}

// names returns the lock names prefix0, prefix1, ...
func names(prefix string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = prefix + strconv.Itoa(i)
	}
	return all
}

// zipf draws ranks 1..n with probability proportional to rank^-s for any s > 0, in constant
// memory. The method is rejection-inversion (Hörmann and Derflinger, "Rejection-inversion to
// generate variates from monotone discrete distributions", 1996). math/rand/v2 supports
// only s > 1.
type zipf struct {
	n, s      float64
	low, high float64 // range of the integral
	cut       float64 // a draw this close below its rank is accepted without a test
}

// newZipf returns nil when cfg.Dist is no zipf.
func newZipf(cfg Config) *zipf {
	if cfg.Dist.kind != distZipf {
		return nil
	}
	z := &zipf{n: float64(cfg.Keys), s: cfg.Dist.args[0]}
	z.low = z.integral(1.5) - 1
	z.high = z.integral(z.n + 0.5)
	z.cut = 2 - z.inverse(z.integral(2.5)-z.density(2))
	return z
}

func (z *zipf) rank(r *rand.Rand) int {
	for {
		u := z.high + r.Float64()*(z.low-z.high)
		x := z.inverse(u)
		k := min(max(math.Floor(x+0.5), 1), z.n)
		if k-x <= z.cut || u >= z.integral(k+0.5)-z.density(k) {
			return int(k)
		}
	}
}

func (z *zipf) density(x float64) float64 { return math.Exp(-z.s * math.Log(x)) }

// integral is the integral of density. expm1 continues it through s = 1.
func (z *zipf) integral(x float64) float64 {
	log := math.Log(x)
	return expm1Over((1-z.s)*log) * log
}

func (z *zipf) inverse(x float64) float64 {
	t := max(x*(1-z.s), -1) // rounding may leave the domain
	return math.Exp(log1pOver(t) * x)
}

// expm1Over is (e^x - 1)/x, also at 0.
func expm1Over(x float64) float64 {
	if math.Abs(x) > 1e-8 {
		return math.Expm1(x) / x
	}
	return 1 + x/2*(1+x/3*(1+x/4))
}

// log1pOver is log(1+x)/x, also at 0.
func log1pOver(x float64) float64 {
	if math.Abs(x) > 1e-8 {
		return math.Log1p(x) / x
	}
	return 1 - x*(0.5-x*(1.0/3-x/4))
}
