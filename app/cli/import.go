package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"mailer/app"
	"mailer/app/kit/build"
	"mailer/app/kit/clock"
	"mailer/app/moving/listmonk"
	"mailer/app/moving/sheets"
	"mailer/app/moving/transfer"
	"mailer/app/rules/archive"
	"mailer/app/rules/contactfile"
	"mailer/app/server"
)

// ErrCutOff means that an import was interrupted. Running it again continues.
var ErrCutOff = errors.New("the import was interrupted: run the same command again to resume")

// importCommand holds what all sources of `mailer import` share.
type importCommand struct {
	c           *Store
	plan, apply bool
	emails      bool
	trust       bool
	triggers    bool
	mapping     string // file for the ids that could not be kept
	images      bool   // fetch what templates and broadcasts show
	fetchAllow  []string
}

// source is where an import reads from. open returns the archive and a function that must be called
// at the end, with done telling whether everything was imported.
type source struct {
	name    string
	mapping string // default file of the mapping of ids
	open    func(ctx context.Context, e *server.Server) (r *archive.Reader, close func(done bool), err error)
}

func imports(c *Store) *cobra.Command {
	i := &importCommand{c: c}
	return group("import", "Import data from another service (dry run; add --apply to write)",
		i.fromResend(), i.fromListmonk(), i.fromFiles(), i.fromSuppressions(), i.fromMailer())
}

// command makes the command of a source.
func (i *importCommand) command(use, short string, args cobra.PositionalArgs, from func(args []string) (source, error)) *cobra.Command {
	cmd := newCommand(use, short, args, func(cmd *cobra.Command, args []string) error {
		if i.plan && i.apply {
			return errors.New("--plan and --apply can't be used together: --plan only shows what --apply would do")
		}
		s, err := from(args)
		if err != nil {
			return err
		}
		return i.c.withTeam(cmd, false, func(ctx context.Context, e *server.Server, team app.Team) error { return i.run(ctx, e, &team, s) })
	})
	cmd.Flags().BoolVar(&i.plan, "plan", false, "show what would change, and change nothing (default)")
	cmd.Flags().BoolVar(&i.apply, "apply", false, "write the data; run the same command again to resume after an interruption")
	if !strings.HasPrefix(use, "suppressions") {
		cmd.Flags().BoolVar(&i.triggers, "trigger-automations", false, "start automations for the contacts that are written")
	}
	for _, flag := range []string{"plan", "apply"} {
		typed(cmd.Flags().Lookup(flag))
	}
	cmd.Flags().StringVar(&i.mapping, "mapping", "", "CSV file to write for ids that changed: kind,from,to (default: mapping.csv in DIR, FILE.db.mapping.csv or SOURCE-mapping.csv; none for files)")
	return i.c.teamFlag(i.c.jsonFlag(cmd))
}

// imageFlags adds the flags of sources with templates that show images.
func (i *importCommand) imageFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&i.images, "images", false, "fetch the images of templates and broadcasts, and store them here")
	cmd.Flags().StringArrayVar(&i.fetchAllow, "fetch-allow", nil, "private IP range (CIDR) from which images may be fetched too, also over plain http; repeatable")
}

// run reads a source and imports it.
func (i *importCommand) run(ctx context.Context, e *server.Server, team *app.Team, s source) error {
	r, done, err := s.open(ctx, e)
	if err != nil {
		return err
	}
	complete := false
	defer func() { done(complete) }()
	o := transfer.Options{Apply: i.apply, Emails: i.emails, Trust: i.trust, TriggerAutomations: i.triggers, Onto: i.c.InUse != nil && i.c.InUse(i.c.flags.DB)}
	mapping := &mappingFile{path: s.mapping}
	if i.mapping != "" {
		mapping.path = i.mapping
	}
	if i.apply && mapping.path != "" {
		o.Mapping = mapping
	}
	if i.images {
		ranges, err := app.ParseRanges(i.fetchAllow)
		if err != nil {
			return fmt.Errorf("--fetch-allow: %w", err)
		}
		o.FetchImages = i.c.Fetch(ranges)
	}
	bar := Progress(ctx, "import", 0)
	o.Progress = steps(bar)
	report, err := e.Transfer.Import(ctx, team, r, o)
	bar.Done()
	err = errors.Join(err, mapping.close())
	complete = err == nil || errors.Is(err, archive.ErrBroken)
	if report == nil {
		return err
	}
	cut := err != nil && ctx.Err() != nil
	if i.c.asJSON {
		if resolveErr := PrintJSON(os.Stdout, report); resolveErr != nil {
			return resolveErr
		}
	} else {
		printReport(os.Stdout, report, team, mapping, cut || err != nil)
		if hasRecords(report.Domains) {
			warnUnserved(e, "the SPF record can't name its relay yet")
		}
	}
	if cut {
		return ErrCutOff
	}
	if i.apply && !complete {
		return fmt.Errorf("%w\n%w", err, ErrCutOff)
	}
	return err
}

// steps returns a callback that adds up the imported items of all kinds.
func steps(bar *Bar) func(kind archive.Kind, n int) {
	total, last := int64(0), map[archive.Kind]int{}
	return func(kind archive.Kind, n int) {
		if n < last[kind] { // contacts are processed twice
			last[kind] = 0
		}
		total += int64(n - last[kind])
		last[kind] = n
		bar.At(total, 0)
	}
}

// mappingFile is created with its first line.
type mappingFile struct {
	path string
	f    *os.File
}

// Write implements io.Writer.
func (m *mappingFile) Write(p []byte) (int, error) {
	if m.f == nil {
		f, err := os.OpenFile(m.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return 0, err
		}
		m.f = f
		if info, err := f.Stat(); err == nil && info.Size() == 0 {
			if _, err := f.WriteString("kind,from,to\n"); err != nil {
				return 0, err
			}
		}
	}
	return m.f.Write(p)
}

func (m *mappingFile) close() error {
	if m.f == nil {
		return nil
	}
	return errors.Join(m.f.Sync(), m.f.Close())
}

// secretFile reads a file that holds one secret.
func secretFile(flag, path string) (string, error) {
	if path == "" {
		return "", fmt.Errorf("--%s is required: a file that contains only the secret", flag)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("--%s: %w", flag, err)
	}
	secret := strings.TrimSpace(string(text))
	if secret == "" || strings.ContainsAny(secret, " \t\r\n") {
		return "", fmt.Errorf("--%s: %s must contain only the secret", flag, path)
	}
	return secret, nil
}

func (i *importCommand) fromListmonk() *cobra.Command {
	var url, user, file string
	cmd := i.command("listmonk", "Import from listmonk through its API", cobra.NoArgs, func([]string) (source, error) {
		if url == "" || user == "" {
			return source{}, errors.New("--url and --user are required: the address of listmonk and the name of an API user")
		}
		token, err := secretFile("token-file", file)
		if err != nil {
			return source{}, err
		}
		return i.remote(archive.SourceListmonk, url+" "+user, func(ctx context.Context, w *archive.Writer, cursor string, bar *Bar) (int, error) {
			result, err := listmonk.Read(ctx, listmonk.Options{URL: url, User: user, Token: token, Progress: pagesLeft(bar)}, w, cursor)
			return result.Left, err
		}), nil
	})
	i.imageFlags(cmd)
	cmd.Flags().StringVar(&url, "url", "", "address of listmonk, like https://lists.example.com")
	typed(cmd.Flags().Lookup("url")) // MAILER_URL is the server of `mailer mcp`
	cmd.Flags().StringVar(&user, "user", "", "name of the API user, or of a user for listmonk before version 4")
	cmd.Flags().StringVar(&file, "token-file", "", "file with the API token, or with the password for listmonk before version 4")
	return cmd
}

func (i *importCommand) fromFiles() *cobra.Command {
	var preset, email string
	cmd := i.command("csv FILE…", "Import files that other services export: CSV, or ZIP files of CSV", cobra.MinimumNArgs(1), func(files []string) (source, error) {
		return i.files(archive.SourceCSV, files, func(w *archive.Writer) (int, error) { return sheets.Read(w, files, preset, email) }), nil
	})
	cmd.Flags().StringVar(&preset, "preset", "", "service that exported the files: "+contactfile.PresetNames+" (default: recognised by the column headings)")
	cmd.Flags().StringVar(&email, "email-column", "", "heading of the column with the email address (default: recognised by its heading)")
	return cmd
}

func (i *importCommand) fromSuppressions() *cobra.Command {
	var from string
	cmd := i.command("suppressions FILE", "Import a suppression list of another service, as CSV or JSON", cobra.ExactArgs(1), func(files []string) (source, error) {
		if from == "" {
			return source{}, errors.New("--from is required: sendgrid, postmark, mailgun or ses")
		}
		return i.files(archive.SourceSuppressions, files, func(w *archive.Writer) (int, error) { return sheets.ReadSuppressions(w, files[0], from) }), nil
	})
	cmd.Flags().StringVar(&from, "from", "", "service that exported the file: sendgrid, postmark, mailgun or ses")
	typed(cmd.Flags().Lookup("from")) // MAILER_FROM is the sender of `mailer send`
	return cmd
}

func (i *importCommand) fromMailer() *cobra.Command {
	var opts mailerFile
	cmd := i.command("mailer DIR|FILE.db", "Import from another Mailer: a directory written by mailer export, or a database", cobra.ExactArgs(1), func(args []string) (source, error) {
		info, err := os.Stat(args[0])
		if err != nil {
			return source{}, err
		}
		if !info.IsDir() {
			return i.database(args[0], &opts), nil
		}
		return source{name: archive.SourceMailer, mapping: filepath.Join(args[0], "mapping.csv"), open: func(context.Context, *server.Server) (*archive.Reader, func(bool), error) {
			r, err := archive.Open(args[0])
			return r, func(bool) {}, err
		}}, nil
	})
	cmd.Flags().BoolVar(&i.emails, "emails", false, "include past emails, if the directory or database has them")
	cmd.Flags().BoolVar(&i.trust, "trust", false, "accept the verified and trusted state of domains; without it, DNS is checked first")
	typed(cmd.Flags().Lookup("trust"))
	cmd.Flags().StringVar(&opts.team, "from-team", "", "team of the other database, by name or id (default: the first)")
	cmd.Flags().StringVar(&opts.key, "from-key-file", "", "file of the other database's master key (default: its name with .key)")
	return cmd
}

// mailerFile names a team in another database.
type mailerFile struct{ team, key string }

// remote is a source over the network. It is read into a directory next to the database, and
// continues after an interruption.
func (i *importCommand) remote(name, identity string, read func(ctx context.Context, w *archive.Writer, cursor string, bar *Bar) (left int, err error)) source {
	return source{name: name, mapping: name + "-mapping.csv", open: func(ctx context.Context, _ *server.Server) (*archive.Reader, func(bool), error) {
		s, err := openSpool(i.c.flags.DB, name, identity)
		if err != nil {
			return nil, nil, err
		}
		if r := s.openComplete(); r != nil && i.apply {
			return r, s.close, nil
		}
		w, cursor, err := s.resume()
		if err != nil {
			s.close(false)
			return nil, nil, err
		}
		bar := Progress(ctx, "read "+name, 0)
		left, err := read(ctx, w, cursor, bar)
		bar.Done()
		if err == nil {
			err = w.Finish(&archive.Team{Source: name, ExportedAt: clock.Now().UTC(), Left: left})
		}
		if err != nil {
			w.Close()
			cut := ctx.Err() != nil || archive.HasMark(s.dir)
			s.close(!cut)
			if ctx.Err() != nil { // the user interrupted it
				return nil, nil, ErrCutOff
			}
			if cut && !errors.Is(err, archive.ErrRefused) {
				return nil, nil, fmt.Errorf("%w\n%w", err, ErrCutOff)
			}
			return nil, nil, err
		}
		r, err := archive.Open(s.dir)
		return r, s.close, err
	}}
}

// files is a source of files. They are read into a temporary directory next to the database.
func (i *importCommand) files(name string, files []string, read func(w *archive.Writer) (left int, err error)) source {
	return source{name: name, open: func(ctx context.Context, _ *server.Server) (*archive.Reader, func(bool), error) {
		dir, err := tempSpool(i.c.flags.DB)
		if err != nil {
			return nil, nil, err
		}
		cleanup := func(bool) { removeSpool(dir) }
		w, err := archive.Create(filepath.Join(dir, name))
		if err != nil {
			cleanup(false)
			return nil, nil, err
		}
		left, err := read(w)
		if err == nil {
			err = w.Finish(&archive.Team{Source: name, ExportedAt: clock.Now().UTC(), Left: left})
		}
		if err == nil {
			var r *archive.Reader
			if r, err = archive.Open(filepath.Join(dir, name)); err == nil {
				return r, cleanup, nil
			}
		}
		w.Close()
		cleanup(false)
		return nil, nil, err
	}}
}

// database is another Mailer's database. One team is first exported to a temporary directory next
// to the database.
func (i *importCommand) database(path string, from *mailerFile) source {
	return source{name: archive.SourceMailer, mapping: path + ".mapping.csv", open: func(ctx context.Context, _ *server.Server) (*archive.Reader, func(bool), error) {
		dir, err := tempSpool(i.c.flags.DB)
		if err != nil {
			return nil, nil, err
		}
		cleanup := func(bool) { removeSpool(dir) }
		bar := Progress(ctx, "read", 0)
		_, err = server.OpenMailer(ctx, server.OtherMailer{Path: path, KeyFile: from.key, Schema: i.c.Schema}, from.team, filepath.Join(dir, archive.SourceMailer),
			transfer.ExportOptions{Emails: i.emails, NoSheets: true, Version: build.Version(), Progress: bar.At})
		bar.Done()
		var r *archive.Reader
		if err == nil {
			r, err = archive.Open(filepath.Join(dir, archive.SourceMailer))
		}
		if err != nil {
			cleanup(false)
		}
		return r, cleanup, err
	}}
}

// pagesLeft returns a callback that shows the remaining pages.
func pagesLeft(bar *Bar) func(kind archive.Kind, left int) {
	of, most := archive.Kind(""), 0
	return func(kind archive.Kind, left int) {
		if kind != of {
			of, most = kind, left
		}
		most = max(most, left)
		bar.At(int64(most-left), int64(most))
	}
}
