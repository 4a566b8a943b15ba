// Package migrations holds the steps that change the schema of a database, one file each, for the
// migrations of package engine.
//
// A step is NNN_name.sql, numbered from 002 without gaps: 001 is base/schema.sql, the schema of
// 0.4.0, which tests migrate and which never changes. NNN_name.postgres.sql, if there is one, is what
// PostgreSQL runs instead; otherwise the step is translated like schema.sql. schema.sql is always
// the result of all steps. Files of a release never change.
//
// Older programs still work on the result of a step that only adds: engine decides that by the
// text of the step (compatible.go). A step that only adds, but whose new rows older programs must not
// leave alone, has a line that begins with "-- incompatible".
package migrations

import "embed"

// Steps are the steps. The pattern also matches this file, because a pattern must match something.
//
//go:embed [0-9m]*
var Steps embed.FS
