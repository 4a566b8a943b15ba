package cli

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"mailer/app"
	"mailer/app/sending/automations"
	"mailer/app/server"
)

func (c *Store) automations() *cobra.Command {
	return group("automations", "Show and stop the automations of a team", c.automationsList(), c.automationsShow(), c.automationsStop())
}

func (c *Store) automationsList() *cobra.Command {
	var status string
	cmd := newCommand("list", "List automations, newest first", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		chosen := app.AutomationStatus(status)
		if !slices.Contains([]app.AutomationStatus{"", app.AutomationEnabled, app.AutomationDisabled}, chosen) {
			return fmt.Errorf("--status must be enabled or disabled, is %q", status)
		}
		return c.withTeam(cmd, false, func(ctx context.Context, e *server.Server, team app.Team) error {
			all, err := allPages(func(page app.Page) ([]app.Automation, bool, error) {
				return e.Automations.List(ctx, byOperator(&team), chosen, page)
			}, func(a *app.Automation) string { return a.ID })
			if err != nil {
				return err
			}
			return Print(os.Stdout, c.asJSON, Automations(all))
		})
	})
	cmd.Flags().StringVar(&status, "status", "", "only automations with this status: enabled or disabled")
	return c.teamFlag(c.jsonFlag(cmd))
}

// Automations is a list of automations.
func Automations(all []app.Automation) Table {
	t := Table{Head: []string{"ID", "NAME", "STATUS", "VERSION", "HELD", "UPDATED"}}
	for i := range all {
		a := &all[i]
		t.Rows = append(t.Rows, Row{Object: automationObject(a),
			Cells: []string{a.ID, a.Name, string(a.Status), strconv.FormatInt(a.Version, 10), orDash(a.Held), app.FormatTime(a.UpdatedAt)}})
	}
	return t
}

func automationObject(a *app.Automation) map[string]any {
	return map[string]any{"id": a.ID, "name": a.Name, "status": a.Status, "version": a.Version, "held": orNull(a.Held),
		"created_at": app.FormatTime(a.CreatedAt), "updated_at": app.FormatTime(a.UpdatedAt)}
}

func (c *Store) automationsShow() *cobra.Command {
	cmd := newCommand("show ID", "Show an automation with its steps", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		return c.withTeam(cmd, false, func(ctx context.Context, e *server.Server, team app.Team) error {
			a, err := e.Automations.Get(ctx, byOperator(&team), args[0])
			if err != nil {
				return notFound(err, "automation", args[0], "automations list")
			}
			object := automationObject(&a)
			object["object"], object["steps"], object["connections"] = "automation", a.Flow.Steps, a.Flow.Connections
			object["re_entry"], object["topic_id"], object["exit_on_opt_out"] = a.Flow.ReEntry, orNull(a.Flow.TopicID), a.Flow.ExitOnOptOut
			return c.printDone(object, automationText(&a))
		})
	})
	return c.teamFlag(c.jsonFlag(cmd))
}

// automationText describes an automation in lines, one for each step.
func automationText(a *app.Automation) string {
	lines := [][2]string{{"id", a.ID}, {"name", a.Name}, {"status", string(a.Status)}, {"version", strconv.FormatInt(a.Version, 10)}, {"held", orDash(a.Held)},
		{"re-entry", string(a.Flow.ReEntry.Mode)}, {"topic", orDash(a.Flow.TopicID)}, {"updated", app.FormatTime(a.UpdatedAt)}}
	for i := range a.Flow.Steps {
		s := &a.Flow.Steps[i]
		lines = append(lines, [2]string{"step", fmt.Sprintf("%s (%s) %s%s", s.Key, s.Type, s.Config, followers(a, s.Key))})
	}
	var b strings.Builder
	for i, line := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%-8s  %s", line[0], printable(line[1]))
	}
	return b.String()
}

// followers names the steps that follow one, with the outcome that leads to each.
func followers(a *app.Automation, key string) string {
	var b strings.Builder
	for _, c := range a.Flow.Connections {
		if c.From != key {
			continue
		}
		b.WriteString(" -> " + c.To)
		if c.Type != "" && c.Type != app.ConnectDefault {
			b.WriteString(" (" + string(c.Type) + ")")
		}
	}
	return b.String()
}

func (c *Store) automationsStop() *cobra.Command {
	cmd := newCommand("stop ID", "Disable an automation and cancel its open runs", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		return c.withTeam(cmd, false, func(ctx context.Context, e *server.Server, team app.Team) error {
			a, err := e.Automations.Stop(ctx, byOperator(&team), args[0])
			if err != nil {
				return notFound(err, "automation", args[0], "automations list")
			}
			return c.printDone(map[string]any{"object": "automation", "id": a.ID, "status": a.Status}, a.Name+" is disabled, and its runs are cancelled")
		})
	})
	return c.teamFlag(c.jsonFlag(cmd))
}

func (c *Store) events() *cobra.Command {
	return group("events", "Show and send the custom events of a team", c.eventsList(), c.eventsSend())
}

func (c *Store) eventsList() *cobra.Command {
	cmd := newCommand("list", "List declared custom events, newest first", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		return c.withTeam(cmd, false, func(ctx context.Context, e *server.Server, team app.Team) error {
			all, err := allPages(func(page app.Page) ([]app.CustomEvent, bool, error) {
				return e.Automations.ListEvents(ctx, byOperator(&team), page)
			}, func(e *app.CustomEvent) string { return e.ID })
			if err != nil {
				return err
			}
			return Print(os.Stdout, c.asJSON, CustomEvents(all))
		})
	})
	return c.teamFlag(c.jsonFlag(cmd))
}

// CustomEvents is a list of custom events.
func CustomEvents(all []app.CustomEvent) Table {
	t := Table{Head: []string{"ID", "NAME", "SCHEMA", "CREATED"}}
	for i := range all {
		e := &all[i]
		var fields []string
		for _, name := range slices.Sorted(maps.Keys(e.Schema)) {
			fields = append(fields, name+" "+string(e.Schema[name]))
		}
		updated := ""
		if !e.UpdatedAt.IsZero() {
			updated = app.FormatTime(e.UpdatedAt)
		}
		t.Rows = append(t.Rows, Row{Object: map[string]any{"id": e.ID, "name": e.Name, "schema": e.Schema, "created_at": app.FormatTime(e.CreatedAt), "updated_at": orNull(updated)},
			Cells: []string{e.ID, e.Name, orDash(strings.Join(fields, ", ")), app.FormatTime(e.CreatedAt)}})
	}
	return t
}

func (c *Store) eventsSend() *cobra.Command {
	var in automations.Sent
	var payload string
	cmd := newCommand("send NAME", "Send a custom event of a contact", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		in.Event = args[0]
		switch {
		case (in.Email == "") == (in.ContactID == ""):
			return fmt.Errorf("give one of --email and --contact")
		case payload != "" && !jsontext.Value(payload).IsValid():
			return fmt.Errorf("--payload must be a JSON object like '{\"plan\":\"pro\"}'")
		case payload != "":
			in.Payload = jsontext.Value(payload)
		}
		return c.withTeam(cmd, false, func(ctx context.Context, e *server.Server, team app.Team) error {
			if err := e.Automations.Send(ctx, byOperator(&team), in); err != nil {
				return err
			}
			err := c.printDone(map[string]any{"object": "event", "event": in.Event}, "sent "+in.Event)
			if !c.InUse(c.flags.DB) {
				fmt.Fprintln(os.Stderr, "mailer: the event is stored; it takes effect when mailer serve runs on this database")
			}
			return err
		})
	})
	cmd.Flags().StringVar(&in.Email, "email", "", "address of the contact; if there is none and an automation listens, it becomes one")
	cmd.Flags().StringVar(&in.ContactID, "contact", "", "id of the contact, instead of --email")
	cmd.Flags().StringVar(&payload, "payload", "", "values for conditions and templates, a JSON object")
	return c.teamFlag(c.jsonFlag(cmd))
}
