package submission

import (
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"mailer/web/smtp/conn"
)

// flags parses a command line.
func flags(t *testing.T, args ...string) *Flags {
	t.Helper()
	f, set := &Flags{}, pflag.NewFlagSet("", pflag.ContinueOnError)
	f.Bind(set)
	if err := set.Parse(args); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestListenTLSModes(t *testing.T) {
	for value, want := range map[string]listen{
		":587":                    {address: ":587"},
		":465":                    {address: ":465", port: conn.Port{TLS: true}},
		"192.0.2.1:2465":          {address: "192.0.2.1:2465", port: conn.Port{TLS: true}},
		"tls://:5870":             {address: ":5870", port: conn.Port{TLS: true}},
		"starttls://:465":         {address: ":465"},
		"127.0.0.1:25":            {address: "127.0.0.1:25"},
		"starttls://0.0.0.0:2525": {address: "0.0.0.0:2525", port: conn.Port{Bounces: true}},
	} {
		f := flags(t, "--smtp-listen", value)
		if err := f.Check(false, true, "0.0.0.0:2525"); err != nil || len(f.listen) != 1 || f.listen[0] != want {
			t.Errorf("%s: %+v, %v", value, f.listen, err)
		}
	}
}

func TestInvalidListenValues(t *testing.T) {
	for _, test := range []struct {
		args   string
		secure bool
		words  string
	}{
		{"--smtp-listen=nonsense", true, "--smtp-listen"},
		{"--smtp-listen=smtps://:465", true, "tls:// or starttls://"},
		{"--smtp-listen=:587", false, "there is no certificate: give --tls auto, or --tls-cert and --tls-key, or listen on 127.0.0.1"},
		{"--smtp-listen=192.0.2.1:2525", false, "there is no certificate"},
		{"--smtp-listen=127.0.0.1:465", false, "there is no certificate"},
		{"--smtp-listen=:587 --smtp-listen=:587", true, "is given twice"},
		{"--smtp-listen=tls://:25", true, "--smtp-receive can't share"},
	} {
		f := flags(t, strings.Fields(test.args)...)
		if err := f.Check(false, test.secure, ":25"); err == nil || !strings.Contains(err.Error(), test.words) {
			t.Errorf("%s: %v", test.args, err)
		}
	}
}

func TestDevListensByDefault(t *testing.T) {
	for args, want := range map[string]string{"": devAddress, "--smtp-listen=127.0.0.1:2000": "127.0.0.1:2000", "--smtp-listen=": ""} {
		f := flags(t, strings.Fields(args)...)
		if err := f.Check(true, false, ""); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, l := range f.listen {
			got += l.address
		}
		if got != want {
			t.Errorf("%q: listens at %q, want %q", args, got, want)
		}
	}
	if f := flags(t); f.Check(false, false, "") != nil || len(f.listen) != 0 || f.TakesBounces() {
		t.Errorf("by itself: %+v", f.listen)
	}
}

func TestSecondDevServerSkipsUsedAddress(t *testing.T) {
	busy := func(string, string) (net.Listener, error) { return nil, errors.New("in use") }
	f := flags(t)
	if err := f.Check(true, false, ""); err != nil {
		t.Fatal(err)
	}
	if err := f.Open(busy); err != nil || f.listen[0].listener != nil {
		t.Errorf("%+v, %v", f.listen, err)
	}
	f.Close()
	f = flags(t, "--smtp-listen=127.0.0.1:2525")
	if err := f.Check(true, false, ""); err != nil {
		t.Fatal(err)
	}
	if err := f.Open(busy); err == nil {
		t.Error("an address that was asked for may be missing")
	}
}
