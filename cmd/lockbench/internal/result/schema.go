package result

import _ "embed"

// Schema is the JSON Schema (draft 2020-12) of a Document. It is made from the Go
// types and their comments by the package's test with -update.
//
//go:embed schema.json
var Schema []byte
