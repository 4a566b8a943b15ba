package cli

import "testing"

func TestResendImportRefusesOwnAddress(t *testing.T) {
	for name, flag := range map[string]string{"resend": "base-url", "listmonk": "url", "suppressions": "from", "csv": "apply"} {
		t.Setenv(variable(flag), "true")
		cmd, _, err := imports(&Store{}).Find([]string{name})
		if err != nil || cmd.Name() != name {
			t.Fatalf("mailer import %s: %v", name, err)
		}
		if err := ReadEnvironment(cmd.Flags()); err != nil {
			t.Fatal(err)
		}
		if cmd.Flags().Lookup(flag).Changed {
			t.Errorf("%s sets --%s of mailer import %s", variable(flag), flag, name)
		}
	}
}
