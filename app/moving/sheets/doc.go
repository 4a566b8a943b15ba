// Package sheets reads files that other services export into an archive: CSV and ZIP files of
// contacts, and suppression lists as CSV or JSON. Package contactfile interprets the columns.
//
// Failure policy: an invalid row is reported with its file and line, and reading continues. A file
// that can't be read further is reported the same way. Only a file that can't be read at all is an
// error.
package sheets
