package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"mailer/app"
	"mailer/app/rules/mailreport"
	"mailer/app/server"
	"mailer/app/tenants/reports"
)

func (c *Store) reports() *cobra.Command {
	return group("reports", "DMARC and TLS reports about domains", c.reportsImport(), c.reportsShow())
}

func (c *Store) reportsImport() *cobra.Command {
	cmd := newCommand("import FILE…", "Import DMARC and TLS reports", cobra.MinimumNArgs(1), func(cmd *cobra.Command, args []string) error {
		return c.withTeam(cmd, false, func(ctx context.Context, e *server.Server, team app.Team) error {
			var done reports.Imported
			for _, path := range args {
				if err := importReports(ctx, e, team.ID, path, &done); err != nil {
					return err
				}
			}
			return c.printImportedReports(&done)
		})
	})
	return c.teamFlag(c.jsonFlag(cmd))
}

// importReports imports a file. A file that can't be opened is refused like one that can't be read.
func importReports(ctx context.Context, e *server.Server, teamID, path string, done *reports.Imported) error {
	name := filepath.Base(path)
	f, err := os.Open(path)
	if err != nil {
		done.Refuse(path, err)
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		done.Refuse(path, errors.New("it is a directory: name the files in it"))
		return nil
	}
	return e.Reports.Import(ctx, teamID, "", name, f, done)
}

// errReportsRefused means that some files were not imported, which was printed.
var errReportsRefused = errors.New("some reports were not imported: see above")

func (c *Store) printImportedReports(done *reports.Imported) error {
	refused := make([]map[string]any, len(done.Refused))
	for i, r := range done.Refused {
		refused[i] = map[string]any{"name": r.Name, "reason": r.Reason}
	}
	if c.asJSON {
		if err := PrintJSON(os.Stdout, map[string]any{"object": "report_import", "imported": done.Imported, "duplicates": done.Duplicates, "refused": refused, "refused_all": done.RefusedAll}); err != nil {
			return err
		}
	} else {
		fmt.Printf("imported %d reports; %d were stored already; %d were refused\n", done.Imported, done.Duplicates, done.RefusedAll)
		for _, r := range done.Refused {
			fmt.Printf("✗ %s: %s\n", printable(r.Name), printable(r.Reason))
		}
		if more := done.RefusedAll - len(done.Refused); more > 0 {
			fmt.Printf("✗ and %d more\n", more)
		}
	}
	if done.RefusedAll > 0 {
		return errReportsRefused
	}
	return nil
}

func (c *Store) reportsShow() *cobra.Command {
	days := reports.DefaultDays
	cmd := newCommand("show DOMAIN", "Show what the reports say", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		return c.withTeam(cmd, false, func(ctx context.Context, e *server.Server, team app.Team) error {
			if days < 1 || days > reports.MaxDays {
				return fmt.Errorf("--days must be from 1 to %d", reports.MaxDays)
			}
			d, err := e.Domains.DomainByName(ctx, team.ID, bareName(args[0]))
			if err != nil {
				return noDomain(ctx, e, &team, bareName(args[0]), err)
			}
			e.Reports.Resolver = nil // a command ends before look-ups in the background do
			o, err := e.Reports.Overview(ctx, byOperator(&team), d.ID, days)
			if err != nil {
				return err
			}
			if c.asJSON {
				return PrintJSON(os.Stdout, reportsObject(&o))
			}
			fmt.Printf("%s\n%s\n\n", printable(mailreport.Text(o.Sentences)), printable(o.Advice.Sentence.Text))
			return Print(os.Stdout, false, reportSources(&o))
		})
	})
	cmd.Flags().IntVar(&days, "days", reports.DefaultDays, "how many days, to today")
	return c.teamFlag(c.jsonFlag(cmd))
}

// reportSources is a table of the sources in reports.
func reportSources(o *reports.Overview) Table {
	t := Table{Head: []string{"SOURCE", "REVERSE NAME", "MESSAGES", "FAILED", "SPF", "DKIM", "NAMED"}}
	for i := range o.Sources {
		s := &o.Sources[i]
		t.Rows = append(t.Rows, Row{Object: sourceObject(s), Cells: []string{s.Source, orDash(s.ReverseName), fmt.Sprint(s.Messages), fmt.Sprint(s.Messages - s.Passed), fmt.Sprint(s.SPF), fmt.Sprint(s.DKIM), orDash(string(s.Named))}})
	}
	return t
}

func sourceObject(s *reports.SourceRow) map[string]any {
	return map[string]any{"source": s.Source, "reverse_name": orNull(s.ReverseName), "messages": s.Messages, "passed": s.Passed, "failed": s.Messages - s.Passed, "spf": s.SPF, "dkim": s.DKIM, "named": orNull(string(s.Named))}
}

func reportsObject(o *reports.Overview) map[string]any {
	sources := make([]map[string]any, len(o.Sources))
	for i := range o.Sources {
		sources[i] = sourceObject(&o.Sources[i])
	}
	return map[string]any{"object": "domain_reports", "domain": o.Domain.Name, "summary": mailreport.Text(o.Sentences), "advice": o.Advice.Sentence.Text, "messages": o.Sum.Messages, "passed": o.Sum.Passed,
		"failed": o.Sum.Messages - o.Sum.Passed, "reporters": o.Reporters, "days": o.DaysSeen, "sources": sources}
}
