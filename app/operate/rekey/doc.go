// Package rekey replaces the master key: it adds a new one to the file of the master
// key, seals anew with it what the old one sealed, and retires the old one. A server
// follows the file while it runs.
//
// Failure policy: at any moment every sealed value can be opened with the keys of the
// file; a kill costs a repetition and nothing else. A file that is damaged or lacks a
// key is told, and the process goes on with the keys that it has.
package rekey
