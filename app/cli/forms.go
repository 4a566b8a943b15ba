package cli

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"mailer/app"
	"mailer/app/server"
)

func (c *Store) forms() *cobra.Command {
	return group("forms", "Show the sign-up forms of a team", c.formsList(), c.formsShow())
}

func (c *Store) formsList() *cobra.Command {
	cmd := newCommand("list", "List the sign-up forms of a team, newest first, with their numbers", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		return c.withTeam(cmd, false, func(ctx context.Context, e *server.Server, team app.Team) error {
			all, err := allPages(func(page app.Page) ([]app.Form, bool, error) {
				return e.SignUp.ListForms(ctx, byOperator(&team), page)
			}, func(f *app.Form) string { return f.ID })
			if err != nil {
				return err
			}
			return Print(os.Stdout, c.asJSON, Forms(all))
		})
	})
	return c.teamFlag(c.jsonFlag(cmd))
}

func (c *Store) formsShow() *cobra.Command {
	cmd := newCommand("show ID", "Show a sign-up form with its URL", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		return c.withTeam(cmd, false, func(ctx context.Context, e *server.Server, team app.Team) error {
			f, err := e.SignUp.GetForm(ctx, byOperator(&team), args[0])
			if err != nil {
				return notFound(err, "form", args[0], "forms list")
			}
			url, err := e.SignUp.FormURL(ctx, &f)
			if err != nil {
				return err
			}
			object := formObject(&f)
			object["object"], object["url"] = "form", orNull(url)
			return c.printDone(object, formText(&f, url))
		})
	})
	return c.teamFlag(c.jsonFlag(cmd))
}

// formText describes a form in lines.
func formText(f *app.Form, url string) string {
	var fields []string
	for _, field := range f.Fields {
		fields = append(fields, field.Property)
	}
	lines := [][2]string{{"id", f.ID}, {"name", f.Name}, {"version", strconv.FormatInt(f.Version, 10)}, {"confirm", string(f.Confirm)}, {"from", f.From},
		{"fields", orDash(strings.Join(fields, ", "))}, {"topics", strconv.Itoa(len(f.Topics))}, {"segments", strconv.Itoa(len(f.Segments))},
		{"language", orDash(f.Language)}, {"confirmations", fmt.Sprintf("at most %d a day", f.PerDay())}, {"url", orDash(url)},
		{"requested", strconv.FormatInt(f.Requested, 10)}, {"confirmed", strconv.FormatInt(f.Confirmed, 10)},
		{"refused", strconv.FormatInt(f.Refused, 10)}, {"stopped", strconv.FormatInt(f.Stopped, 10)}}
	var b strings.Builder
	for i, line := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%-13s  %s", line[0], printable(line[1]))
	}
	return b.String()
}

// Forms is a list of sign-up forms.
func Forms(all []app.Form) Table {
	t := Table{Head: []string{"ID", "NAME", "CONFIRM", "REQUESTED", "CONFIRMED", "REFUSED", "STOPPED", "CREATED"}}
	for i := range all {
		f := &all[i]
		t.Rows = append(t.Rows, Row{Object: formObject(f), Cells: []string{f.ID, f.Name, string(f.Confirm), strconv.FormatInt(f.Requested, 10), strconv.FormatInt(f.Confirmed, 10),
			strconv.FormatInt(f.Refused, 10), strconv.FormatInt(f.Stopped, 10), app.FormatTime(f.CreatedAt)}})
	}
	return t
}

func formObject(f *app.Form) map[string]any {
	topics, fields := make([]any, len(f.Topics)), make([]any, len(f.Fields))
	for i, t := range f.Topics {
		topics[i] = map[string]any{"id": t.ID, "preselected": t.Preselected}
	}
	for i, field := range f.Fields {
		fields[i] = map[string]any{"property": field.Property, "label": field.Label, "required": field.Required}
	}
	return map[string]any{"id": f.ID, "name": f.Name, "version": f.Version, "confirm": f.Confirm, "from": f.From, "reply_to": orNull(f.ReplyTo),
		"topics": topics, "segments": append([]string{}, f.Segments...), "fields": fields, "confirmation_template": orNull(f.ConfirmationTemplate),
		"welcome_template": orNull(f.WelcomeTemplate), "language": orNull(f.Language), "redirect_url": orNull(f.RedirectURL),
		"allowed_origins": append([]string{}, f.AllowedOrigins...), "reject_disposable": f.RejectDisposable, "max_confirmations_per_day": f.PerDay(),
		"requested": f.Requested, "confirmed": f.Confirmed, "refused": f.Refused, "stopped": f.Stopped,
		"created_at": app.FormatTime(f.CreatedAt), "updated_at": app.FormatTime(f.UpdatedAt)}
}

func (c *Store) optIns() *cobra.Command {
	return group("opt-ins", "Show who asked to receive mail", c.optInsList())
}

func (c *Store) optInsList() *cobra.Command {
	var status string
	cmd := newCommand("list", "List the opt-ins of a team, newest first", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		chosen, err := app.ParseOptInStatus(status)
		if err != nil {
			return fmt.Errorf("--status: %w", err)
		}
		return c.withTeam(cmd, false, func(ctx context.Context, e *server.Server, team app.Team) error {
			all, err := allPages(func(page app.Page) ([]app.SignUp, bool, error) {
				return e.SignUp.ListOptIns(ctx, byOperator(&team), chosen, page)
			}, func(s *app.SignUp) string { return s.ID })
			if err != nil {
				return err
			}
			return Print(os.Stdout, c.asJSON, OptIns(all))
		})
	})
	cmd.Flags().StringVar(&status, "status", "", "only opt-ins of this state: pending, confirmed, expired or refused")
	return c.teamFlag(c.jsonFlag(cmd))
}

// OptIns is a list of opt-ins.
func OptIns(all []app.SignUp) Table {
	t := Table{Head: []string{"ID", "ADDRESS", "STATUS", "FORM", "REQUESTED", "DECIDED"}}
	for i := range all {
		s := &all[i]
		decided := ""
		if !s.DecidedAt.IsZero() {
			decided = app.FormatTime(s.DecidedAt)
		}
		t.Rows = append(t.Rows, Row{
			Object: map[string]any{"id": s.ID, "email": s.Email, "status": s.Status, "form": orNull(s.FormID), "contact_id": orNull(s.ContactID),
				"requested_at": app.FormatTime(s.RequestedAt), "decided_at": orNull(decided)},
			Cells: []string{s.ID, s.Email, string(s.Status), orDash(s.FormID), app.FormatTime(s.RequestedAt), orDash(decided)},
		})
	}
	return t
}
