package cli

import (
	"fmt"
	"io"
	"strings"

	"mailer/app"
	"mailer/app/moving/transfer"
	"mailer/app/rules/archive"
)

// shownRefusals is the number of refused rows that are printed; --json has all.
const shownRefusals = 20

// printReport prints what an import would do, or did.
func printReport(w io.Writer, r *transfer.Report, team *app.Team, mapping *mappingFile, cut bool) {
	var b strings.Builder
	switch {
	case cut:
		fmt.Fprintf(&b, "Cut off. Taken into %s so far:\n", team.Name)
	case r.Applied:
		fmt.Fprintf(&b, "Taken into %s:\n", team.Name)
	default:
		fmt.Fprintf(&b, "Dry run for %s; add --apply to make these changes:\n", team.Name)
	}
	c := r.Contacts
	fmt.Fprintf(&b, "  contacts      %d new, %d there already, %d refused\n", c.New, c.Existing, c.Refused)
	fmt.Fprintf(&b, "  unsubscribed  %d more contacts than before\n", r.OptedOut)
	s := r.Suppressions
	fmt.Fprintf(&b, "  suppressions  %d bounce, %d complaint, %d unsubscribe, %d manual\n", s.Bounce, s.Complaint, s.Unsubscribe, s.Manual)
	if s.Left > 0 {
		fmt.Fprintf(&b, "  left out      %d soft bounces and blocks: mail may go there\n", s.Left)
	}
	if r.TopicChoices > 0 {
		fmt.Fprintf(&b, "  choices       %d about topics\n", r.TopicChoices)
	}
	if r.MembershipsEnded > 0 {
		fmt.Fprintf(&b, "  left segments %d contacts leave a segment, as they did at the source\n", r.MembershipsEnded)
	}
	for _, list := range []struct {
		name   string
		things []transfer.Thing
	}{{"properties", r.Properties}, {"segments", r.Segments}, {"topics", r.Topics}, {"saved blocks", r.Blocks}, {"templates", r.Templates}, {"forms", r.Forms}, {"broadcasts", r.Broadcasts}, {"feeds", r.Feeds},
		{"domains", r.Domains}, {"webhooks", r.Webhooks}, {"routes", r.Routes}, {"events", r.CustomEvents}, {"automations", r.Automations}, {"API keys", r.Keys}} {
		if len(list.things) > 0 {
			fmt.Fprintf(&b, "  %-13s %s\n", list.name, thingsText(list.things))
		}
	}
	if r.Images.New+r.Images.Existing > 0 {
		fmt.Fprintf(&b, "  images        %d new, %d there already\n", r.Images.New, r.Images.Existing)
	}
	if r.Issues.New+r.Issues.Existing > 0 {
		fmt.Fprintf(&b, "  issues        %d new in archives, %d there already\n", r.Issues.New, r.Issues.Existing)
	}
	if n := heldFeeds(r.Feeds); n > 0 {
		fmt.Fprintf(&b, "  held feeds    %d: they make no broadcasts until they are set to active\n", n)
	}
	if n := heldFeeds(r.Automations); n > 0 {
		fmt.Fprintf(&b, "  held          %d automations: dates, schedules and segments start none until they are disabled and enabled again\n", n)
	}
	if r.AutomationStarts.New+r.AutomationStarts.Existing > 0 {
		fmt.Fprintf(&b, "  starts        %d of automations new, %d there already\n", r.AutomationStarts.New, r.AutomationStarts.Existing)
	}
	if r.OptIns.New+r.OptIns.Existing > 0 {
		fmt.Fprintf(&b, "  opt-ins       %d new, %d there already; no mail is sent for them\n", r.OptIns.New, r.OptIns.Existing)
	}
	if r.Consents.New+r.Consents.Existing > 0 {
		fmt.Fprintf(&b, "  consents      %d new, %d there already\n", r.Consents.New, r.Consents.Existing)
	}
	if r.Emails.New+r.Emails.Existing > 0 {
		fmt.Fprintf(&b, "  emails        %d new, %d there already\n", r.Emails.New, r.Emails.Existing)
	}
	printRecords(&b, r.Domains)
	if n := unverified(r.Domains); n > 0 {
		fmt.Fprintf(&b, "Not verified yet: %d of the new domains. A server that runs asks the DNS within a minute; what is sent from them before their records are found is refused.\n", n)
	}
	for i, c := range r.Consent {
		if i == 0 {
			fmt.Fprintln(&b, "Columns that decide who gets mail, and how they are read:")
		}
		fmt.Fprintf(&b, "  %s, column %s: %s\n", oneLine(c.File), oneLine(c.Column), c.ReadAs)
	}
	printLacks(&b, r.Cannot)
	printRefused(&b, r)
	if mapping.f != nil {
		fmt.Fprintf(&b, "Ids that could not be kept, old and new: %s\n", mapping.path)
	}
	_, _ = io.WriteString(w, b.String()) // a closed terminal does not fail the import
}

// thingsText counts things, and names the first new ones.
func thingsText(things []transfer.Thing) string {
	const named = 5
	var names []string
	fresh, drafts := 0, 0
	for i := range things {
		if !things[i].New {
			continue
		}
		if fresh++; fresh <= named {
			names = append(names, oneLine(things[i].Name))
		}
		if things[i].Draft {
			drafts++
		}
	}
	msg := fmt.Sprintf("%d new", fresh)
	if drafts > 0 {
		msg += fmt.Sprintf(" (%d of them drafts)", drafts)
	}
	msg += fmt.Sprintf(", %d there already", len(things)-fresh)
	if len(names) == 0 {
		return msg
	}
	if fresh > named {
		names = append(names, "…")
	}
	return msg + ": " + strings.Join(names, ", ")
}

// oneLine makes a name safe to print.
func oneLine(s string) string { return app.OneLine(s) }

// heldFeeds counts new feeds or automations that are held.
func heldFeeds(feeds []transfer.Thing) (n int) {
	for i := range feeds {
		if feeds[i].New && feeds[i].Status == string(app.HeldFeed) {
			n++
		}
	}
	return n
}

// hasRecords reports whether printRecords prints any.
func hasRecords(domains []transfer.Thing) bool {
	for i := range domains {
		if domains[i].New && len(domains[i].Records) > 0 {
			return true
		}
	}
	return false
}

// unverified counts new domains that are not verified.
func unverified(domains []transfer.Thing) (n int) {
	for i := range domains {
		if domains[i].New && domains[i].Status == string(app.DomainPending) {
			n++
		}
	}
	return n
}

// printRecords prints the DNS records of new domains.
func printRecords(b *strings.Builder, domains []transfer.Thing) {
	for i := range domains {
		if !domains[i].New || len(domains[i].Records) == 0 {
			continue
		}
		fmt.Fprintf(b, "DNS records of %s, to publish where they are missing:\n", domains[i].Name)
		for _, r := range domains[i].Records {
			value := r.Value
			if r.Priority > 0 {
				value = fmt.Sprintf("%d %s", r.Priority, value)
			}
			fmt.Fprintf(b, "  %s  %s  %s\n", r.Type, r.Name, value)
		}
	}
}

func printLacks(b *strings.Builder, lacks []archive.Unmovable) {
	if len(lacks) > 0 {
		fmt.Fprintln(b, "Can't move, or only in part:")
	}
	for _, lack := range lacks {
		fmt.Fprintf(b, "  %s: %s\n", oneLine(lack.Item), oneLine(lack.Reason))
	}
}

// printRefused names refused rows by file and line, and answers of a service by their number.
func printRefused(b *strings.Builder, report *transfer.Report) {
	refused, place := report.Refused, "%s, line %d"
	if report.Source == archive.SourceListmonk || report.Source == archive.SourceResend {
		place = "%s %d"
	}
	if len(refused) > 0 {
		fmt.Fprintln(b, "Refused, with what is wrong:")
	}
	for i, r := range refused {
		if i == shownRefusals {
			fmt.Fprintf(b, "  … and %d more; --json lists them all\n", len(refused)-i)
			return
		}
		fmt.Fprintf(b, "  "+place+": %s\n", oneLine(r.File), r.Line, r.Reason)
	}
}
