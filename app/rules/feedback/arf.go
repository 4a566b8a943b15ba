package feedback

import "strings"

// readComplaint reads a feedback report (RFC 5965 3). Only the type abuse is a complaint: fraud
// and virus are about the mail and not the reader's wish, and not-spam retracts a report.
func readComplaint(b []byte) []Claim {
	group := readFields(b)
	types := group.all("feedback-type")
	if len(types) != 1 || !strings.EqualFold(strings.TrimSpace(types[0]), "abuse") {
		return nil
	}
	r := Claim{Report: Report{Kind: Complained, Diagnostic: "Feedback report of the type abuse"}}
	if by := bounceLine(group.get("user-agent")); by != "" {
		r.Diagnostic = firstBytes(r.Diagnostic+" by "+by, maxDiagnostic)
	}
	for _, value := range append(group.all("original-rcpt-to"), group.all("removal-recipient")...) {
		if address := plainAddress(value); address != "" && len(r.Addresses) < maxBounceGroups {
			r.Addresses = append(r.Addresses, address)
		}
	}
	return []Claim{r}
}
