package probe

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/faults"
	"muxlock/cmd/lockbench/internal/masters"
	"muxlock/internal/peaks"
	"muxlock/internal/redisserver"
	"muxlock/internal/testing/redistest"
)

// often makes several probes in any test.
var often = Options{Every: time.Millisecond, Timeout: time.Second}

func open(t *testing.T, addrs []string, o Options) *Prober {
	t.Helper()
	p, err := Open(t.Context(), addrs, o)
	require.NoError(t, err)
	t.Cleanup(func() { p.Stop() })
	return p
}

// lost returns the unanswered probes of each master so far.
func lost(p *Prober) (each []int64, rows int) {
	p.book.mu.Lock()
	defer p.book.mu.Unlock()
	return append(each, p.book.lost...), p.book.seen
}

// Run calls Start, waits for length or the end of ctx, and calls Stop.
func (p *Prober) Run(ctx context.Context, length time.Duration) *Report {
	p.Start(time.Now(), length)
	select {
	case <-p.ctx.Done():
	case <-ctx.Done():
	}
	return p.Stop()
}

// delayed returns the addresses of masters, one of which answers late.
func delayed(t *testing.T, servers []*redisserver.Server, text string) []string {
	t.Helper()
	fault, err := faults.Parse(text, faults.Run{Masters: len(servers), Duration: time.Hour})
	require.NoError(t, err)
	rig, err := faults.NewRig([]faults.Fault{fault}, servers)
	require.NoError(t, err)
	t.Cleanup(func() { rig.Close() })
	return rig.Addrs()
}

func TestARowHasTheRoundTripToEveryMasterThroughItsOwnDelay(t *testing.T) {
	servers := redistest.Masters(t, 3)
	addrs := delayed(t, servers, "delay:2:300ms")

	// Rows come faster than answers: they follow each other.
	p := open(t, addrs, Options{Every: 5 * time.Millisecond, Timeout: 10 * time.Second})
	r := p.Run(t.Context(), 1500*time.Millisecond)
	_, rows := lost(p)
	require.Greater(t, rows, 20, "300 are due; 5 if each waited for the one before")
	require.Less(t, rows, 450)
	require.Len(t, r.Probe.Rows, rows)
	for _, row := range r.Probe.Rows {
		require.Len(t, row, 3)
		require.GreaterOrEqual(t, row[1], int64(300*time.Millisecond))
		require.Positive(t, row[0])
		require.Positive(t, row[2])
	}
	require.Len(t, r.Masters, 3)
	for i, m := range r.Masters {
		require.Equal(t, addrs[i], m.Addr)
		require.EqualValues(t, rows, m.RTT.Count)
		require.Zero(t, m.Lost)
		require.Zero(t, m.Down)
		require.NotNil(t, m.Clock)
	}
	require.Less(t, r.Masters[0].RTT.P["50"], int64(150*time.Millisecond))
	require.Greater(t, r.Masters[1].RTT.P["50"], int64(299*time.Millisecond))
	require.Len(t, r.Seconds, 2)
	require.Greater(t, r.Seconds[0][1], int64(299*time.Millisecond))
}

func TestAMasterThatHangsIsLostInEveryRowAndHoldsNothingUp(t *testing.T) {
	servers := redistest.Masters(t, 2)
	p := open(t, redistest.Addrs(servers), Options{Every: 2 * time.Millisecond, Timeout: 3 * time.Second})
	require.NoError(t, servers[1].Pause())
	p.Start(time.Now(), time.Hour)
	require.Eventually(t, func() bool { n, _ := lost(p); return n[1] > 100 }, 20*time.Second, time.Millisecond)
	require.NoError(t, servers[1].Resume())
	_, before := lost(p)
	require.Eventually(t, func() bool {
		n, rows := lost(p)
		return int64(rows)-n[1] > 20 && rows > before
	}, 20*time.Second, time.Millisecond, "it answers again")
	r := p.Stop()
	_, rows := lost(p)

	hung, fine := r.Masters[1], r.Masters[0]
	require.Greater(t, hung.Lost, int64(100))
	require.EqualValues(t, rows, hung.Lost+hung.RTT.Count)
	require.Greater(t, hung.Down, 0.1)
	require.Less(t, hung.Down, 1.0)
	require.Zero(t, fine.Lost)
	require.EqualValues(t, rows, fine.RTT.Count)
	require.Zero(t, fine.Down)
	require.EqualValues(t, -1, r.Probe.Rows[0][1])
	require.Positive(t, r.Probe.Rows[0][0])
	require.EqualValues(t, 3*time.Second, r.Probe.TimeoutNs)
}

// After a pause of this process a deadline has passed, and the answer has been there for long.
func TestAnAnswerThatIsThereIsReadAfterItsDeadline(t *testing.T) {
	p := open(t, redistest.Addrs(redistest.Masters(t, 1)), Options{Every: 10 * time.Millisecond, Timeout: 10 * time.Second})
	p.lanes[0].timeout = 1 // each deadline has passed when it is set
	p.Start(time.Now(), time.Hour)
	require.Eventually(t, func() bool { _, rows := lost(p); return rows > 20 }, 20*time.Second, time.Millisecond)
	r := p.Stop()
	require.Positive(t, r.Masters[0].RTT.Count)
	_, rows := lost(p)
	require.Less(t, r.Masters[0].Lost, int64(rows))
}

func TestAMasterThatIsNotThereIsDownAllTheTime(t *testing.T) {
	servers := redistest.Masters(t, 2)
	up := redistest.Down(t, servers[0])
	p := open(t, redistest.Addrs(servers), Options{Every: time.Millisecond, Timeout: 50 * time.Millisecond})
	r := p.Run(t.Context(), 200*time.Millisecond)
	require.InDelta(t, 1, r.Masters[0].Down, 0.05)
	_, rows := lost(p)
	require.EqualValues(t, rows, r.Masters[0].Lost)
	require.Nil(t, r.Masters[0].Clock)
	require.EqualValues(t, -1, r.Seconds[0][0])
	require.Greater(t, rows, 10, "back to back, past the one that is out; 4 if they waited for it")

	up()
	p = open(t, redistest.Addrs(servers), often)
	redistest.Down(t, servers[0]) // after it was connected
	r = p.Run(t.Context(), 100*time.Millisecond)
	require.Greater(t, r.Masters[0].Down, 0.5)
}

func TestAReportHoldsAtMostSoManyRowsSpreadOverAllOfThem(t *testing.T) {
	b := newBook([]string{"a"}, time.Second)
	b.base = time.Now()
	for i := range 10 * rowsMost {
		r := b.begin()
		r.end()
		r.answered(0, time.Duration(i+1))
	}
	b.close(time.Now())
	r := b.report([]*lane{{}})
	require.Len(t, r.Probe.Rows, rowsMost)
	require.IsIncreasing(t, column(r.Probe.Rows), "in the order of time")
	late := 0
	for _, row := range r.Probe.Rows {
		if row[0] > 5*rowsMost {
			late++
		}
	}
	require.InDelta(t, rowsMost/2, late, 8*22.4, "a half is of the second half; 8 standard deviations")
}

func TestNoSlowRowIsLostAmongManyFastOnes(t *testing.T) {
	const slow, never = 80 * time.Millisecond, -1
	b := newBook([]string{"a", "b", "c"}, time.Second)
	for i := range 40_000 {
		b.base = time.Now().Add(-time.Duration(i) * 10 * time.Millisecond)
		r := b.begin()
		r.at = time.Duration(i) * 10 * time.Millisecond
		r.rtt = []int64{1, 1, int64(time.Second)}
		switch {
		case 20_000 <= i && i < 20_010:
			r.rtt = []int64{never, 1, never}
		case i == 30_000, i == 39_999:
			r.rtt = []int64{1, int64(slow), never}
		}
		b.add(r)
	}
	found := b.report([]*lane{{}, {}, {}}).Probe.Slow
	require.Len(t, found, 12)
	require.EqualValues(t, 200*time.Second, found[0].AtNs)
	for i, one := range found[:10] {
		require.InDelta(t, -10e6, one.Ns, 5e6, "until the next row")
		require.InDelta(t, found[0].AtNs+int64(i)*10e6, one.AtNs, 5e6)
	}
	require.Equal(t, []bench.Peak{{AtNs: 300e9, Ns: int64(slow)}, {AtNs: 399.99e9, Ns: int64(slow)}}, found[10:])
}

func TestOfAnOutageTooLongForAReportTheBeginIsKept(t *testing.T) {
	b := newBook([]string{"a"}, time.Second)
	for i := range 6000 {
		r := b.begin()
		r.at, r.rtt[0] = time.Duration(i)*time.Millisecond, -1
		if i < 1000 { // an answer
			r.rtt[0] = int64(time.Second) + int64(i*7919%1000)
		}
		b.add(r)
	}
	for i, one := range b.report([]*lane{{}}).Probe.Slow[:peaks.Most/2] {
		require.EqualValues(t, (1000+i)*1e6, one.AtNs, "without a gap")
	}
}

func column(rows [][]int64) (c []int64) {
	for _, r := range rows {
		c = append(c, r[0])
	}
	return c
}

func TestSecondsAreWhereTheirRowsBegan(t *testing.T) {
	b := newBook([]string{"a", "b"}, time.Second)
	add := func(at time.Duration, x, y int64) {
		r := b.begin()
		r.at, r.rtt = at, []int64{x, y}
		b.add(r)
	}
	add(100*time.Millisecond, 1, 7)
	add(200*time.Millisecond, 5, -1)
	add(900*time.Millisecond, 3, -1)
	add(3100*time.Millisecond, 4, -1)
	add(2900*time.Millisecond, 6, 2) // too late for its own second
	b.length = 3500 * time.Millisecond
	require.Equal(t, [][]int64{{3, 7}, {-1, -1}, {-1, -1}, {4, 2}}, b.report([]*lane{{}, {}}).Seconds)
}

func TestAResultGetsEveryMasterAndTheMediansOfItsSeconds(t *testing.T) {
	res := &bench.Result{Series: []bench.Point{{TS: 1}, {TS: 2}, {TS: 2.4}}}
	r := &Report{Masters: []bench.Master{{Addr: "a"}}, Seconds: [][]int64{{1}, {2}}, Probe: bench.Probe{Rows: [][]int64{{5}}}}
	r.Into(res)
	require.Equal(t, r.Masters, res.PerMaster)
	require.Equal(t, &r.Probe, res.Probe)
	require.Equal(t, []int64{2}, res.Series[1].MasterNs)
	require.Nil(t, res.Series[2].MasterNs)
}

func TestEmbeddedMastersAndPasswordsWork(t *testing.T) {
	set, err := masters.StartEmbedded(2)
	require.NoError(t, err)
	defer set.Close()
	r := open(t, set.Addrs, often).Run(t.Context(), 50*time.Millisecond)
	require.Positive(t, r.Masters[1].RTT.Count)

	server := redistest.MastersWith(t, 1, redisserver.Options{Password: "pa55"})[0]
	r = open(t, []string{"redis://:pa55@" + server.Addr() + "/2"}, often).Run(t.Context(), 50*time.Millisecond)
	require.Positive(t, r.Masters[0].RTT.Count)
	require.NotContains(t, r.Masters[0].Addr, "pa55")
	r = open(t, []string{"redis://:wrong@" + server.Addr()}, often).Run(t.Context(), 50*time.Millisecond)
	require.Zero(t, r.Masters[0].RTT.Count)
}

func TestProbingThatIsStoppedBeforeItsBeginSawNothing(t *testing.T) {
	servers := redistest.Masters(t, 2)
	redistest.Down(t, servers[1])
	p := open(t, redistest.Addrs(servers), often)
	p.Start(time.Now().Add(time.Hour), time.Hour)
	r := p.Stop()
	require.Zero(t, p.book.seen)
	require.Empty(t, r.Seconds)
	require.Zero(t, r.Masters[1].Down)
}

func TestProbingEndsWithItsContextAndNeedsAddresses(t *testing.T) {
	servers := redistest.Masters(t, 1)
	p := open(t, redistest.Addrs(servers), Options{Every: time.Hour, Timeout: time.Second})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p.Run(ctx, time.Hour)
	require.Zero(t, p.book.seen)

	p = open(t, redistest.Addrs(servers), often)
	require.Nil(t, p.Stop(), "never started")

	_, err := Open(t.Context(), []string{"here"}, often)
	require.ErrorContains(t, err, "here")
}
