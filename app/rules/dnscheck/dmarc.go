package dnscheck

import (
	"context"
	"fmt"
	"strings"

	"mailer/app"
)

// checkDMARC checks for a policy of the domain itself, or of its organizational domain, which is
// inherited (RFC 7489 6.6.3). Any policy is accepted: mail is aligned, since it is signed with the
// domain's own DKIM key.
func (c *checker) checkDMARC(ctx context.Context, r app.DNSRecord) app.RecordCheck {
	answer, err := c.lookup(ctx, r.Name, app.DNSText)
	if err != nil {
		return unanswered(r, err)
	}
	if texts := dmarcTexts(answer); len(texts) > 0 {
		return c.dmarcVerdict(r, answer, texts)
	}
	if wrong := nearDMARC(answer); wrong != "" {
		return verdict(r, app.LiveMismatch, "At %s: %s", at(r.Name, answer), wrong)
	}
	if c.org != c.domain.Name {
		inherited, err := c.lookup(ctx, app.DmarcName(c.org), app.DNSText)
		if err != nil {
			return unanswered(r, err)
		}
		if check, ok := inheritDMARC(r, inherited, c.org); ok {
			if c.needs.Reports != "" && !namesReports(inherited, c.needs.Reports) {
				check.Detail = fmt.Sprintf("Reports about %s go where the record of %s sends them. To read them here, add mailto:%s to the rua of that record.", c.domain.Name, c.org, c.needs.Reports)
			}
			return check
		}
	}
	if len(answer.Records) > 0 {
		return verdict(r, app.LiveMissing, "There is no DMARC record at %s, only %s. Add the value shown.", at(r.Name, answer), quoted(answer.Records[0].Text))
	}
	return c.absent(ctx, r, answer, func(v app.DNSValue) bool { return isDMARC(v.Text) })
}

func (c *checker) dmarcVerdict(r app.DNSRecord, answer app.DNSAnswer, texts []string) app.RecordCheck {
	if len(texts) > 1 {
		return verdict(r, app.LiveMismatch, "There are %d DMARC records at %s, so receivers ignore all of them (RFC 7489 6.6.3). Delete all but one; the first is %s.", len(texts), at(r.Name, answer), quoted(texts[0]))
	}
	policy, err := parseDMARC(texts[0])
	if err != nil {
		return verdict(r, app.LiveMismatch, "At %s: %s is not a valid DMARC record: %s.", at(r.Name, answer), quoted(texts[0]), err)
	}
	check := verdict(r, app.LiveFound, "")
	check.Policy = policy.own
	if c.needs.Reports == "" {
		return check
	}
	if all, err := AddDMARCReports(texts[0], c.needs.Reports); err == nil && all != texts[0] {
		check.Detail, check.Proposed = "The record sends no reports to this server. To read them here, replace the record by the value shown.", all
	} else if err == nil {
		check.Proposed = texts[0]
	}
	return check
}

// namesReports reports whether a DMARC record sends reports to an address.
func namesReports(answer app.DNSAnswer, address string) bool {
	texts := dmarcTexts(answer)
	if len(texts) != 1 {
		return false
	}
	all, err := AddDMARCReports(texts[0], address)
	return err == nil && all == texts[0]
}

func inheritDMARC(r app.DNSRecord, answer app.DNSAnswer, org string) (app.RecordCheck, bool) {
	texts := dmarcTexts(answer)
	if len(texts) != 1 {
		return app.RecordCheck{}, false
	}
	policy, err := parseDMARC(texts[0])
	if err != nil {
		return app.RecordCheck{}, false
	}
	check := verdict(r, app.LiveFound, "")
	check.InheritedFrom, check.Policy = org, policy.sub
	return check, true
}

// isDMARC reports whether receivers use a record as a DMARC record: it must begin with the version
// (RFC 7489 6.6.3).
func isDMARC(text string) bool {
	version, _, _ := strings.Cut(text, ";")
	name, value, found := strings.Cut(version, "=")
	return found && trimFWS(name) == "v" && strings.HasPrefix(trimFWS(value), "DMARC1")
}

func dmarcTexts(answer app.DNSAnswer) (texts []string) {
	for _, v := range answer.Records {
		if isDMARC(v.Text) {
			texts = append(texts, v.Text)
		}
	}
	return texts
}

// nearDMARC finds a record that was meant as a DMARC record but is not one.
func nearDMARC(answer app.DNSAnswer) string {
	for _, v := range answer.Records {
		text := v.Text
		bare := strings.NewReplacer(`"`, "", `\`, "").Replace(text)
		lower := strings.ToLower(bare)
		switch {
		case bare != text && isDMARC(trimFWS(bare)):
			return fmt.Sprintf("quotation marks or backslashes are part of the value (%s). Enter it without any.", quoted(text))
		case strings.Contains(lower, "v=dmarc1") || strings.Contains(lower, "v = dmarc1"):
			return fmt.Sprintf("%s is not a DMARC record: it must begin with v=DMARC1; in just that case.", quoted(text))
		case strings.HasPrefix(lower, "p=") || strings.HasPrefix(lower, "dmarc1"):
			return fmt.Sprintf("%s is not a DMARC record: it must begin with v=DMARC1;.", quoted(text))
		}
	}
	return ""
}

// dmarcPolicy is what receivers should do with mail that fails: none, quarantine or reject.
type dmarcPolicy struct {
	own string // of the domain
	sub string // of its subdomains
}

// parseDMARC parses a record that begins with the version. A missing or unknown p= counts as none
// if reports are requested (RFC 7489 6.6.3). The error says what to change.
func parseDMARC(text string) (dmarcPolicy, error) {
	tags, err := parseTags(text)
	if err != nil {
		return dmarcPolicy{}, fmt.Errorf("%w; tags have a semicolon between, like v=DMARC1; p=none;", err)
	}
	if v := tags[0]; v.name != "v" || v.value != "DMARC1" {
		return dmarcPolicy{}, fmt.Errorf("after v=DMARC1 must come a semicolon, like v=DMARC1; p=none;")
	}
	own, ok := policyTag(tags, "p")
	if _, reports := tags.get("rua"); !ok && reports {
		own, ok = "none", true
	}
	if !ok {
		return dmarcPolicy{}, fmt.Errorf("it needs p=none, p=quarantine or p=reject")
	}
	sub, ok := policyTag(tags, "sp")
	if !ok {
		sub = own
	}
	return dmarcPolicy{own, sub}, nil
}

func policyTag(tags tagList, name string) (string, bool) {
	value, _ := tags.get(name)
	switch p := strings.ToLower(value); p {
	case "none", "quarantine", "reject":
		return p, true
	}
	return "", false
}
