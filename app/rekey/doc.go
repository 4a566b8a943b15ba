// Package rekey replaces the master key: it adds a new one, seals anew under it what the
// old one sealed, and retires the old one.
//
// Failure policy: at any moment every sealed value can be opened with the keys of the
// file; a kill costs a repetition and nothing else.
package rekey
