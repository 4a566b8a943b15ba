package cli

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mailer/app/operate/settings"
)

// newFlags are a text and a list.
func newFlags() (*pflag.FlagSet, *string, *[]string) {
	flags := pflag.NewFlagSet("x", pflag.ContinueOnError)
	return flags, flags.String("base-url", "", ""), flags.StringArray("relay", nil, "")
}

// file writes a file and returns its name.
func file(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFlagVariableOrFileSetsValue(t *testing.T) {
	for _, c := range []struct {
		flag, variable, file, want string
	}{
		{"flag", "variable", "file", "flag"},
		{"", "variable", "file", "variable"},
		{"", "", " file\n", "file"},
		{"", "", "", ""},
	} {
		flags, url, relays := newFlags()
		if c.flag != "" {
			if err := flags.Parse([]string{"--base-url", c.flag, "--relay", c.flag}); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"MAILER_BASE_URL", "MAILER_RELAY"} {
			t.Setenv(name, c.variable)
			t.Setenv(name+"_FILE", "")
			if os.Unsetenv(name + "_FILE"); c.file != "" {
				t.Setenv(name+"_FILE", file(t, c.file))
			}
		}
		if err := ReadEnvironment(flags); err != nil || *url != c.want || strings.Join(*relays, ",") != c.want {
			t.Errorf("%+v: %q, %q, %v", c, *url, *relays, err)
		}
	}
}

func TestEmptyFileCountsAsSet(t *testing.T) {
	for path, msg := range map[string]string{"": "MAILER_RELAY_FILE is set and names no file", "/dev/null": "MAILER_RELAY_FILE names the file /dev/null, which is empty",
		file(t, " \n"): "which is empty", "/no/such": "MAILER_RELAY_FILE: open /no/such", t.TempDir(): "MAILER_RELAY_FILE"} {
		for _, args := range [][]string{nil, {"--relay", "smtp://x"}} {
			flags, _, _ := newFlags()
			if err := flags.Parse(args); err != nil {
				t.Fatal(err)
			}
			t.Setenv("MAILER_RELAY_FILE", path)
			if err := ReadEnvironment(flags); err == nil || !strings.Contains(err.Error(), msg) {
				t.Errorf("%q with %q: %v", path, args, err)
			}
		}
	}
}

func TestUnknownVariablesSuggestNearest(t *testing.T) {
	root := &cobra.Command{Use: "mailer"}
	serve, send := &cobra.Command{Use: "serve"}, &cobra.Command{Use: "send"}
	serve.Flags().AddFlagSet(func() *pflag.FlagSet { f, _, _ := newFlags(); return f }())
	send.Flags().String("subject", "", "")
	root.AddCommand(serve, send)
	var log bytes.Buffer
	WarnUnknownVariables(slog.New(slog.NewTextHandler(&log, nil)), root, []string{
		"MAILER_RELAY=a", "MAILER_RELAY_FILE=b", "MAILER_SUBJECT=c", "PATH=d", "MAILER=e", "MAILER_RELAYS=secret", "MAILER_RELAY_FIEL=f", "MAILER_BASEURL=g"})
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	for i, want := range []string{"variable=MAILER_RELAYS nearest=MAILER_RELAY", "variable=MAILER_RELAY_FIEL nearest=MAILER_RELAY_FILE", "variable=MAILER_BASEURL nearest=MAILER_BASE_URL"} {
		if len(lines) != 3 || !strings.HasSuffix(lines[i], want) || !strings.Contains(lines[i], "level=WARN") {
			t.Fatalf("%q, want a line with %s", lines, want)
		}
	}
	if strings.Contains(log.String(), "secret") {
		t.Error("a value is shown")
	}
}

func TestChangedFileIsLogged(t *testing.T) {
	path := file(t, "smtp://user:secret@a smtp://b")
	t.Setenv("MAILER_RELAY_FILE", path)
	flags, _, _ := newFlags()
	if err := ReadEnvironment(flags); err != nil {
		t.Fatal(err)
	}
	for content, want := range map[string]string{"smtp://user:secret@a smtp://b\n": "", "smtp://user:secret@c": "changed; restart", "": "can't be read"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		WarnChangedFiles(slog.New(slog.NewTextHandler(&log, nil)), flags)
		if got := log.String(); (want == "") != (got == "") || !strings.Contains(got, want) || strings.Contains(got, "secret") {
			t.Errorf("%q: %s", content, got)
		}
	}
}

func TestMistypedCommandSuggestsNearest(t *testing.T) {
	for line, want := range map[string]string{
		"serv":           `unknown command "serv" of mailer; the nearest is serve`,
		"keys creat":     `unknown command "creat" of mailer keys; the nearest is create`,
		"serve --lisen":  "unknown flag: --lisen of mailer serve; the nearest is --listen",
		"keys":           "",
		"serve --listen": "flag needs an argument",
	} {
		root, keys := &cobra.Command{Use: "mailer", SilenceErrors: true, SilenceUsage: true}, &cobra.Command{Use: "keys"}
		run := func(*cobra.Command, []string) error { return nil }
		serve := &cobra.Command{Use: "serve", RunE: run}
		serve.Flags().String("listen", "", "")
		keys.AddCommand(&cobra.Command{Use: "create", RunE: run}, &cobra.Command{Use: "list", RunE: run})
		root.AddCommand(serve, keys)
		SuggestNearest(root, strings.Fields(line))
		root.SetArgs(strings.Fields(line))
		root.SetOut(&bytes.Buffer{})
		err := root.Execute()
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
}

func TestLogLevel(t *testing.T) {
	levels := []string{"debug", "info", "warn", "error"}
	for i, level := range levels {
		for _, format := range []LogFormat{"text", "json"} {
			flags := settings.Flags{LogLevel: level}
			log, err := format.Logger(flags.Level())
			if err != nil {
				t.Fatal(err)
			}
			for j, at := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
				if got := log.Enabled(t.Context(), at); got != (j >= i) {
					t.Errorf("--log-level %s: %v is logged: %v", level, at, got)
				}
			}
		}
	}
	if _, err := LogFormat("xml").Logger(slog.LevelInfo); err == nil {
		t.Error("a format that is none is taken")
	}
}
