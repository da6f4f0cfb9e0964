// Package migrations holds the schema as goose SQL files; River's own tables are migrated by rivermigrate (see cmd/onefold).
package migrations

import "embed"

// FS holds the SQL files, applied in the order of their numbers.
//
//go:embed *.sql
var FS embed.FS
