package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"mailer/app/base"
	"mailer/app/kit/build"
	"mailer/app/operate/health"
	"mailer/app/server"
)

// errNeedsAttention means that something needs the operator's attention, and was printed.
var errNeedsAttention = errors.New("attention needed: see the ✗ lines above")

func (c *Store) status() *cobra.Command {
	var live bool
	var listen string
	cmd := newCommand("status", "Show server status: relays, queue, disk, last backup. Exits 1 if anything needs attention", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		if live {
			return checkLive(cmd.Context(), listen)
		}
		return c.with(cmd, false, func(ctx context.Context, e *server.Server) error {
			st, err := server.Status(ctx, e, c.flags.DB, build.Version())
			if err != nil {
				return err
			}
			if c.asJSON {
				err = PrintJSON(os.Stdout, st)
			} else {
				err = printStatus(&st)
			}
			if err != nil || st.OK {
				return err
			}
			return errNeedsAttention
		})
	})
	cmd.Flags().BoolVar(&live, "live", false, "only ask whether the server process answers, for health checks of containers; exits 1 if not")
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:3000", "address of the HTTP API, for --live")
	return c.jsonFlag(cmd)
}

func printStatus(st *health.Status) error {
	for i := range st.Needs {
		n := &st.Needs[i]
		fmt.Printf("%s %s\n", State(os.Stdout, "✗"), printableLines(n.What))
		for _, line := range helpLines(n) {
			fmt.Printf("  %s\n", printableLines(line))
		}
	}
	if st.OK {
		fmt.Println(State(os.Stdout, "✓") + " All systems OK")
	}
	if st.Capturing {
		fmt.Println("capture mode: mail is signed and stored, not sent")
	}
	fmt.Println()
	if len(st.Relays) > 0 {
		if err := Print(os.Stdout, false, relayTable(st.Relays)); err != nil {
			return err
		}
		printRegions(st.Relays)
		fmt.Println()
	}
	fmt.Printf("queue     %d queued%s\n", st.Queue.Waiting, since(st.Queue.Oldest))
	reasons := Table{Head: []string{"RELAY", "TEAM", "STATE", "REASON", "COUNT"}}
	for _, row := range st.Queue.By {
		reasons.Rows = append(reasons.Rows, Row{Cells: []string{row.Relay, row.TeamName, string(row.State), row.Reason, strconv.FormatInt(row.Count, 10)}})
	}
	if len(reasons.Rows) > 0 {
		if err := Print(os.Stdout, false, reasons); err != nil {
			return err
		}
		fmt.Println()
	}
	if err := printCertificates(st.Certificates); err != nil {
		return err
	}
	for _, n := range st.Servers {
		fmt.Printf("server    %s %s since %s\n", n.Address, map[bool]string{true: "leader", false: "follower"}[n.Leads], n.Since)
	}
	var tables []string
	for _, t := range st.Database.Tables {
		tables = append(tables, t.Name+" "+base.FormatBytes(t.Bytes))
	}
	fmt.Printf("database  %s, write-ahead log %s (%s)\nimages    %s\ndisk      %s free\n",
		base.FormatBytes(st.Database.Bytes), base.FormatBytes(st.Database.WALBytes), strings.Join(tables, ", "), base.FormatBytes(st.Database.Images), base.FormatBytes(st.Database.DiskFree))
	if r := st.Database.Received; r.Stored > 0 || r.Emails > 0 {
		fmt.Printf("received  %d emails (%s) since yesterday, about %s kept\n", r.Emails, base.FormatBytes(r.Bytes), base.FormatBytes(r.Stored))
	}
	if !st.Remote {
		fmt.Printf("backup    %s\n", orNone(st.Backup.Last))
	}
	fmt.Printf("version   %s\n", build.Text())
	return nil
}

func since(oldest *string) string {
	if oldest == nil {
		return ""
	}
	return ", oldest since " + *oldest
}

func orNone(at *string) string {
	if at == nil {
		return "no backup yet"
	}
	return "last made " + *at
}

// printCertificates prints the certificates of the server's listeners.
func printCertificates(all []health.Certificate) error {
	if len(all) == 0 {
		return nil
	}
	t := Table{Head: []string{"CERTIFICATE", "UNTIL", "FAILURE"}}
	for _, c := range all {
		t.Rows = append(t.Rows, Row{Cells: []string{c.Host, dash(c.Until), dash(c.Failure)}})
	}
	err := Print(os.Stdout, false, t)
	fmt.Println()
	return err
}

func dash(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}
