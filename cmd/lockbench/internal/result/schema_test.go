package result_test

import (
	"bytes"
	"encoding"
	"encoding/json"
	"flag"
	"os"
	"path"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/invopop/jsonschema"
	"github.com/stretchr/testify/require"

	validate "github.com/santhosh-tekuri/jsonschema/v6"

	"muxlock/bench"
	"muxlock/cmd/lockbench/internal/result"
)

var update = flag.Bool("update", false, "rewrite schema.json and testdata")

// promised is the fields that scripts may rely on, by Go type. All others may be
// absent: from documents of before they were added, or because they do not apply.
var promised = map[string]string{
	"result.Document": "schema_version tool env config results relative",
	"bench.Tool":      "name version go",
	"bench.Result":    "impl round masters workers procs keys seed duration_s totals throughput_per_s latency fairness safety client series valid",
	"bench.Totals":    "offered started acquired refused timeouts errors",
	"bench.Latencies": "service acquire release cycle",
	"bench.Summary":   "unit count min mean max p",
	"bench.Fairness":  "jain max_wait_ns per_proc",
	"bench.Safety":    "overlaps fence_violations",
	"bench.Client":    "cpu_ns_per_op allocs_per_op gc_p99_ns",
	"bench.Valid":     "ok reasons",
	"bench.SLO":       "text unit value limit pass",
	"result.Config":   "workers keys dist hold think rate duration_ns warmup_ns ttl_ns wait_ns op seed impls rounds masters command target",
}

// reflected makes the schema from the Go types.
func reflected(t *testing.T) []byte {
	r := &jsonschema.Reflector{
		AllowAdditionalProperties: true, // fields are added without a new version
		Anonymous:                 true,
		Namer: func(t reflect.Type) string {
			if t.Kind() == reflect.Pointer {
				t = t.Elem()
			}
			if t.Name() == "" {
				return "" // a list or a map
			}
			return path.Base(t.PkgPath()) + "." + t.Name()
		},
		Mapper: func(t reflect.Type) *jsonschema.Schema {
			switch {
			case t == reflect.TypeFor[time.Duration]():
				return &jsonschema.Schema{Type: "integer", Description: "ns"}
			case t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
				return &jsonschema.Schema{Type: "string"} // as the flag of that name takes it
			}
			return nil
		},
	}
	t.Chdir("../../../..") // paths of packages are taken from the root of the module
	for _, dir := range []string{"bench", "cmd/lockbench/internal/result", "cmd/lockbench/internal/advice"} {
		require.NoError(t, r.AddGoComments("muxlock", "./"+dir))
	}
	s := r.Reflect(&result.Document{})
	s.ID = "urn:muxlock:lockbench:result:2"
	s.Title = "A result of lockbench"
	s.Description = "What lockbench prints with -o json. Times are integers in nanoseconds where the name ends in _ns or the unit is ns, and seconds where it ends in _s. No number is NaN or infinite, no array is null."
	version, ok := s.Definitions["result.Document"].Properties.Get("schema_version")
	require.True(t, ok)
	version.Enum = []any{1, bench.SchemaVersion} // fields were only added
	for name := range promised {
		require.Contains(t, s.Definitions, name)
	}
	for name, def := range s.Definitions {
		def.Required = strings.Fields(promised[name])
		for _, field := range def.Required {
			_, ok := def.Properties.Get(field)
			require.True(t, ok, "%s.%s", name, field)
		}
	}
	text, err := json.MarshalIndent(s, "", "  ")
	require.NoError(t, err)
	return append(text, '\n')
}

func TestTheSchemaIsThatOfTheTypes(t *testing.T) {
	text := reflected(t)
	if *update {
		require.NoError(t, os.WriteFile("cmd/lockbench/internal/result/schema.json", text, 0o644))
		return
	}
	require.Contains(t, string(text), "Release called to its verdict", "the comments are descriptions")
	require.Equal(t, string(text), string(result.Schema), "go test -update makes it anew")
}

func schema(t *testing.T) *validate.Schema {
	t.Helper()
	doc, err := validate.UnmarshalJSON(bytes.NewReader(result.Schema))
	require.NoError(t, err)
	c := validate.NewCompiler()
	require.NoError(t, c.AddResource("schema.json", doc))
	s, err := c.Compile("schema.json")
	require.NoError(t, err)
	return s
}

func checked(t *testing.T, text string) error {
	v, err := validate.UnmarshalJSON(strings.NewReader(text))
	require.NoError(t, err)
	return schema(t).Validate(v)
}

func TestARecordedResultFollowsTheSchemaAndADamagedOneDoesNot(t *testing.T) {
	text := recordedText(t)
	require.NoError(t, checked(t, text))
	for old, wrong := range map[string]string{
		`"schema_version": 1`:  `"schema_version": 3`,
		`"impl": `:             `"implementation": `,
		`"throughput_per_s": `: `"throughput": `,
		`"unit": "ns"`:         `"unit": 9`,
		`"overlaps": 0`:        `"overlaps": "none"`,
		`"series": [`:          `"series": null, "x": [`,
		`"p": {`:               `"percentiles": {`,
		`"duration_ns": `:      `"duration_ns": 0.5, "x": `,
	} {
		require.Contains(t, text, old)
		require.Error(t, checked(t, strings.Replace(text, old, wrong, 1)), wrong)
	}
	require.NoError(t, checked(t, strings.Replace(text, `"impl"`, `"novel": 1, "impl"`, 1)), "fields are added")
}
