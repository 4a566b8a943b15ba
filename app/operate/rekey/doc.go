// Package rekey replaces the master key: it adds a new key to the master key file, seals all
// stored values with it, and retires the old key. A running server follows the file.
//
// Failure policy: every sealed value can be opened with the keys of the file at any time, and a
// kill only causes repetition. If the file is damaged or lacks a key, the error is logged and the
// process keeps its keys.
package rekey
