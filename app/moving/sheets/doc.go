// Package sheets reads the files that other services export into an archive: CSV and ZIP
// files of contacts, and lists of suppressions as CSV or JSON. What their columns mean is
// for package importing to say.
//
// Failure policy: a row that can't be taken is named with its file and line, and the next
// follows; a file that can't be read further is named likewise where something of it
// was read. Only where nothing can be read is there an error.
package sheets
