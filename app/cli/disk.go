package cli

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"mailer/app/base"
	"mailer/app/operate/retention"
	"mailer/app/server"
)

// disk is the command that prints disk usage.
func (c *Store) disk() *cobra.Command {
	return c.jsonFlag(newCommand("disk", "Show disk usage by team and table", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		return c.with(cmd, false, func(ctx context.Context, e *server.Server) error {
			d, err := e.Retention.Disk(ctx)
			if err != nil {
				return err
			}
			if c.asJSON {
				return PrintJSON(os.Stdout, diskObject(d))
			}
			fmt.Printf("file %s, free pages %s, write-ahead log %s\n\n", base.FormatBytes(d.File), base.FormatBytes(d.Free), base.FormatBytes(d.WAL))
			if err := Print(os.Stdout, false, diskTables(d)); err != nil {
				return err
			}
			fmt.Println()
			return Print(os.Stdout, false, diskTeams(d))
		})
	}))
}

// diskObject returns the JSON form, with sizes in bytes.
func diskObject(d *retention.Disk) map[string]any {
	tables, teams := make([]any, 0, len(d.Tables)), make([]any, 0, len(d.Teams))
	for _, t := range d.Tables {
		tables = append(tables, map[string]any{"table": t.Name, "bytes": t.Bytes})
	}
	for _, t := range d.Teams {
		teams = append(teams, map[string]any{"id": t.ID, "team": t.Team, "emails": t.Emails, "bytes": t.Bytes, "images": t.Images,
			"keep_content": retention.FormatRetention(t.Kept.Content), "keep_emails": retention.FormatRetention(t.Kept.Emails), "keep_broadcasts": retention.FormatRetention(t.Kept.Broadcasts),
			"old": map[string]any{"contents": t.OldContents, "emails": t.OldEmails, "bytes": t.OldBytes}})
	}
	return map[string]any{"bytes": d.File, "wal_bytes": d.WAL, "free_bytes": d.Free, "tables": tables, "teams": teams}
}

func diskTables(d *retention.Disk) Table {
	t := Table{Head: []string{"TABLE", "SIZE"}}
	const small = 1000 // bytes that are not worth a line
	for _, row := range d.Tables {
		if row.Bytes*small >= d.File {
			t.Rows = append(t.Rows, Row{Cells: []string{row.Name, base.FormatBytes(row.Bytes)}})
		}
	}
	return t
}

func diskTeams(d *retention.Disk) Table {
	t := Table{Head: []string{"TEAM", "EMAILS", "ABOUT", "IMAGES", "KEEPS CONTENTS", "EMAILS", "BROADCASTS", "OLD CONTENTS", "OLD EMAILS", "ABOUT"}}
	for _, row := range d.Teams {
		t.Rows = append(t.Rows, Row{Cells: []string{row.Team, strconv.FormatInt(row.Emails, 10), base.FormatBytes(row.Bytes), base.FormatBytes(row.Images),
			keptText(row.Kept.Content), keptText(row.Kept.Emails), keptText(row.Kept.Broadcasts),
			strconv.FormatInt(row.OldContents, 10), strconv.FormatInt(row.OldEmails, 10), base.FormatBytes(row.OldBytes)}})
	}
	return t
}
