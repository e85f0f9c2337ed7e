package rolling

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The environment of these tests, and of the processes that they start.
const (
	rollsEnv = "MUXLOCK_ROLLS"
	nameEnv  = "MUXLOCK_ROLLING"
	partEnv  = "ROLLING_PART" // not a setting of muxlock, which would warn
)

const (
	ttl       = 2 * time.Second // of each lock, and the MaxTTL
	outage    = 2 * ttl
	fewRolls  = 2 // unless rollsEnv says how many
	limit     = 30 * time.Second
	pollEvery = time.Millisecond
)

// rolls is how many are played in each setting. With many, times are held against bounds.
var rolls, many = fewRolls, false

func TestMain(m *testing.M) {
	if text := os.Getenv(partEnv); text != "" {
		play(text)
		return
	}
	if n, err := strconv.Atoi(os.Getenv(rollsEnv)); err == nil {
		rolls, many = n, true
	}
	done := make(chan struct{})
	go watchStalls(done)
	code := m.Run()
	close(done)
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// picked reports whether a setting is to be played: if there are many rolls, or it is one of few.
func picked(name string, few bool) bool {
	return (many || few) && regexp.MustCompile(os.Getenv(nameEnv)).MatchString(name)
}

var began = time.Now()

// progress says how far a setting has come, where it takes minutes.
func progress(name string, format string, args ...any) {
	if many {
		fmt.Printf("%6.0fs  %-52s %s\n", time.Since(began).Seconds(), name, fmt.Sprintf(format, args...))
	}
}
