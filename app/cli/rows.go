package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"mailer/app"
)

// Keys is a list of API keys, without secrets.
func Keys(keys []app.Key) Table {
	t := Table{Head: []string{"ID", "NAME", "PERMISSION", "ROLE", "DOMAIN", "CREATED", "LAST USED", "EXPIRES", "FROM"}}
	for _, k := range keys {
		used, expires := app.FormatTimePtr(k.LastUsedAt), app.FormatTimePtr(k.ExpiresAt)
		from := make([]string, 0, len(k.AllowedIPs))
		for _, r := range k.AllowedIPs {
			from = append(from, r.String())
		}
		t.Rows = append(t.Rows, Row{
			Object: map[string]any{"id": k.ID, "name": k.Name, "permission": k.Permission, "role": k.Role,
				"domain": orNull(k.DomainName), "created_at": app.FormatTime(k.CreatedAt), "last_used_at": used,
				"expires_at": expires, "allowed_ips": from},
			Cells: []string{k.ID, k.Name, string(k.Permission), string(k.Role), orDash(k.DomainName), app.FormatTime(k.CreatedAt), orDash(deref(used)),
				orDash(deref(expires)), orDash(strings.Join(from, ","))},
		})
	}
	return t
}

// Teams is a list of teams.
func Teams(teams []app.Team) Table {
	t := Table{Head: []string{"ID", "NAME", "CREATED"}}
	for _, team := range teams {
		t.Rows = append(t.Rows, Row{
			Object: map[string]any{"id": team.ID, "name": team.Name, "created_at": app.FormatTime(team.CreatedAt)},
			Cells:  []string{team.ID, team.Name, app.FormatTime(team.CreatedAt)},
		})
	}
	return t
}

// Domains is a list of sending domains.
func Domains(domains []app.Domain) Table {
	t := Table{Head: []string{"ID", "NAME", "STATUS", "REGION", "CREATED"}}
	for _, d := range domains {
		t.Rows = append(t.Rows, Row{Object: domainObject(&d),
			Cells: []string{d.ID, d.Name, string(d.Status), d.Region, app.FormatTime(d.CreatedAt)}})
	}
	return t
}

func domainObject(d *app.Domain) map[string]any {
	return map[string]any{"id": d.ID, "name": d.Name, "status": d.Status, "region": d.Region, "created_at": app.FormatTime(d.CreatedAt)}
}

// PrintDomain prints a domain with its DNS records. Details of records are printed below the table,
// since they are long.
func PrintDomain(w io.Writer, asJSON bool, d *app.Domain, records []app.DNSRecord) error {
	if asJSON {
		object := domainObject(d)
		object["object"], object["records"] = "domain", records
		return PrintJSON(w, object)
	}
	t := Table{Head: []string{"RECORD", "TYPE", "NAME", "STATUS", "LIVE", "VALUE"}}
	var details strings.Builder
	for _, r := range records {
		value := r.Value
		if r.Priority > 0 {
			value = strconv.Itoa(r.Priority) + " " + value
		}
		t.Rows = append(t.Rows, Row{Cells: []string{r.Record, r.Type, r.Name, string(r.Status), string(r.Live), value}})
		if text := detailOf(&r); text != "" {
			fmt.Fprintf(&details, "\n%s %s %s: %s\n", r.Record, r.Type, r.Name, text)
		}
	}
	if _, err := fmt.Fprintf(w, "%s is %s\n\n", d.Name, State(w, string(d.Status))); err != nil {
		return err
	}
	if err := Print(w, false, t); err != nil {
		return err
	}
	_, err := io.WriteString(w, details.String())
	return err
}

// detailOf returns the details of a record.
func detailOf(r *app.DNSRecord) string {
	switch {
	case r.InheritedFrom != "":
		return fmt.Sprintf("the policy of %s counts: %s", r.InheritedFrom, r.Policy)
	case r.Detail == "" && r.Policy != "":
		return "the policy is " + r.Policy
	}
	return r.Detail
}

// Doubts is a list of transactions whose outcome is or was unknown.
func Doubts(doubts []app.Doubt) Table {
	t := Table{Head: []string{"EMAIL", "RECIPIENTS", "RELAY", "SINCE", "SETTLED", "HOW"}}
	for _, d := range doubts {
		settled := app.FormatTimePtr(d.SettledAt)
		t.Rows = append(t.Rows, Row{
			Object: map[string]any{"email_id": d.EmailID, "broadcast_id": orNull(d.BroadcastID), "message_id": d.MessageID, "recipients": d.Recipients, "relay": d.Relay,
				"created_at": app.FormatTime(d.CreatedAt), "settled_at": settled, "settled": orNull(d.Settled)},
			Cells: []string{d.EmailID, strings.Join(d.Recipients, ","), d.Relay, app.FormatTime(d.CreatedAt), orDash(deref(settled)), orDash(d.Settled)},
		})
	}
	return t
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
