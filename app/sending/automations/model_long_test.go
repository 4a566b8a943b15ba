//go:build long

package automations_test

func init() { modelContacts = 10_000 }
