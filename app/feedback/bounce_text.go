package feedback

import (
	"mime"
	"strconv"
	"strings"

	"mailer/app"
)

// The subtypes of a bounce that are told apart, in the words of Amazon SES.
const (
	bounceGeneral  = "General"
	bounceNoEmail  = "NoEmail"
	bounceFull     = "MailboxFull"
	bounceTooLarge = "MessageTooLarge"
	bounceContent  = "ContentRejected"
)

// judgeBounce sorts a failure by its enhanced status code (RFC 3463); where that
// says nothing (5.0.0), by a code in the words of the server, then by the words
// themselves, then by the SMTP code in them. enhanced is the code that decided.
func judgeBounce(status, words string) (kind app.BounceType, subType, enhanced string) {
	if kind, subType = judgeCode(status); subType != "" {
		return kind, subType, status
	}
	inside := statusCodeIn(words)
	if kind, subType = judgeCode(inside); subType != "" {
		return kind, subType, inside
	}
	if enhanced = status; enhanced == "" || strings.HasSuffix(enhanced, ".0.0") && inside != "" {
		enhanced = inside
	}
	if kind, subType = judgeWords(words); subType == "" {
		kind, subType = judgeReply(replyCodeIn(words))
	}
	if strings.HasPrefix(enhanced, "4") {
		kind = app.BounceTransient
	}
	return kind, subType, enhanced
}

// judgeCode sorts by an enhanced status code; an empty subtype: it says nothing.
func judgeCode(code string) (app.BounceType, string) {
	class, detail, _ := strings.Cut(code, ".")
	subject, _, _ := strings.Cut(detail, ".")
	switch {
	case class != "4" && class != "5" || subject == "0":
		return app.BounceUndetermined, ""
	case detail == "2.2":
		return app.BounceTransient, bounceFull
	case detail == "2.3" || detail == "3.4":
		return app.BounceTransient, bounceTooLarge
	case subject == "6" || subject == "7":
		return app.BounceTransient, bounceContent
	case class == "4":
		return app.BounceTransient, bounceGeneral
	}
	switch detail {
	case "1.1", "1.2", "1.3", "1.6", "1.10", "2.1": // of the address itself, and lasting
		return app.BouncePermanent, bounceNoEmail
	}
	return app.BounceUndetermined, bounceGeneral
}

// judgeReply sorts by an SMTP reply code, where nothing else says more.
func judgeReply(code int) (app.BounceType, string) {
	switch {
	case code == 552: // RFC 5321 4.2.3: exceeded storage allocation
		return app.BounceTransient, bounceFull
	case code/100 == 4:
		return app.BounceTransient, bounceGeneral
	}
	return app.BounceUndetermined, bounceGeneral
}

// bounceWords are words by which servers refuse, in lower case, and what they
// mean. The first row that fits counts; refusals that are not of the address
// stand first, so that in doubt nobody is taken off the list.
var bounceWords = []struct {
	kind    app.BounceType
	subType string
	words   []string
}{
	{app.BounceTransient, bounceFull, []string{"mailbox full", "mailbox is full", "inbox is full", "over quota", "overquota", "quota exceeded",
		"exceeded storage", "out of storage", "insufficient storage"}},
	{app.BounceTransient, bounceTooLarge, []string{"message too large", "message too big", "message is too large", "message size exceeds", "exceeds the maximum size", "size limit"}},
	{app.BounceTransient, bounceContent, []string{"spam", "blocked", "blacklist", "blocklist", "block list", "denylist", "policy", "virus", "malware",
		"reputation", "dmarc", "dkim", "spf ", "content rejected", "rate limit", "too many"}},
	{app.BouncePermanent, bounceNoEmail, []string{"user unknown", "unknown user", "no such user", "no such mailbox", "no such recipient", "no such address",
		"no such person", "user not found", "mailbox not found", "recipient not found", "address not found", "recipient unknown", "unknown recipient", "unknown address",
		"mailbox unknown", "invalid recipient", "invalid mailbox", "user does not exist", "mailbox does not exist", "account does not exist",
		"address does not exist", "recipient does not exist", "account that you tried to reach does not exist", "user doesn't exist",
		"mailbox doesn't exist", "account doesn't exist", "address doesn't exist", "address couldn't be found", "address could not be found",
		"account is disabled", "account has been disabled", "mailbox is disabled", "mailbox disabled", "no mailbox here by that name",
		"not a valid mailbox", "is not a known user"}},
}

// judgeWords sorts by words; an empty subtype: none is known.
func judgeWords(words string) (app.BounceType, string) {
	words = strings.ToLower(strings.ReplaceAll(words, "’", "'"))
	for _, row := range bounceWords {
		if containsAny(words, row.words) {
			return row.kind, row.subType
		}
	}
	return app.BounceUndetermined, ""
}

func containsAny(s string, words []string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

// Words in the subject of bounces, of notices of delay, and of automatic answers,
// in lower case.
var (
	bounceSubjects = []string{"undeliver", "delivery fail", "delivery status notification (fail", "failure notice", "returned mail", "returned to sender",
		"delivery problem", "delivery error", "mail delivery system", "couldn't be delivered", "could not be delivered", "mail failure", "non-delivery",
		"unzustellbar", "nicht zugestellt", "non remis", "no entregado", "mancato recapito"}
	delaySubjects = []string{"delayed", "delivery status notification (delay", "still being retried", "warning: could not send", "verzögert"}
	replySubjects = []string{"out of office", "out of the office", "automatic reply", "auto reply", "auto-reply", "autoreply", "auto:", "autosvar", "vacation",
		"abwesen", "automatische antwort", "réponse automatique", "absence du bureau", "respuesta automática", "fuera de la oficina", "risposta automatica",
		"resposta automática", "automatisch antwoord", "自動応答", "自动答复"}
)

// isAutoReply reports whether a message without a report is the answer of a machine
// (RFC 3834 5). Postfix says auto-replied of its bounces too, but those report.
func (f fields) isAutoReply() bool {
	switch {
	case strings.HasPrefix(strings.ToLower(f.get("auto-submitted")), "auto-replied"),
		f.get("x-autoreply") != "", f.get("x-autorespond") != "", f.get("x-autoresponder") != "",
		strings.EqualFold(f.get("precedence"), "auto_reply"):
		return true
	}
	return containsAny(f.subject(), replySubjects)
}

func (f fields) subject() string {
	s := firstBytes(f.get("subject"), maxDiagnostic)
	if decoded, err := new(mime.WordDecoder).DecodeHeader(s); err == nil {
		s = decoded
	}
	return strings.ToLower(strings.ReplaceAll(s, "’", "'"))
}

// readFreeForm reads a bounce without a format. It must look like one by its
// sender or subject, name failed recipients in its header, or come from nobody
// with a code of a failure in it: people answer to return paths too.
func readFreeForm(header fields, text string, nullSender bool) []Claim {
	subject, from := header.subject(), strings.ToLower(firstBytes(header.get("from"), maxDiagnostic))
	text = beforeCopy(text)
	words := bounceLine(text)
	delay := containsAny(subject, delaySubjects)
	failed := header.get("x-failed-recipients")
	looks := delay || failed != "" || containsAny(subject, bounceSubjects) ||
		containsAny(from, []string{"mailer-daemon@", "mailer-daemon <", "postmaster@"}) && (statusCodeIn(words) != "" || replyCodeIn(words) != 0)
	if !looks && !(nullSender && statusCodeIn(words) != "") {
		return nil
	}
	r := Claim{Report: Report{Kind: Bounced, Diagnostic: firstBytes(aroundCode(words), maxDiagnostic)}, Named: failedRecipients(failed, text)}
	r.Bounce, r.SubType, r.Enhanced = judgeBounce("", words)
	if delay {
		r.Kind, r.Bounce, r.SubType = Delayed, "", ""
	}
	return spread(r)
}

// beforeCopy leaves off the copy of the message that came back, whose words are
// those of its author.
func beforeCopy(text string) string {
	for _, mark := range []string{"--- Below this line is a copy", "------ This is a copy of", "-----Original message", "----- Original message", "----- Transcript of original"} {
		text, _, _ = strings.Cut(text, mark)
	}
	return text
}

// spread makes a report of each name, since one text may speak of several.
func spread(r Claim) []Claim {
	if len(r.Named) < 2 {
		return []Claim{r}
	}
	var reports []Claim
	for _, name := range r.Named {
		one := r
		one.Named = []string{name}
		reports = append(reports, one)
	}
	return reports
}

// failedRecipients finds who failed: in X-Failed-Recipients (Exim, Gmail), else
// in lines that are an address in angle brackets with a colon (qmail).
func failedRecipients(header, text string) (named []string) {
	for _, part := range strings.Split(firstBytes(header, maxBouncePart), ",") {
		if address := plainAddress(part); address != "" && len(named) < maxBounceGroups {
			named = append(named, address)
		}
	}
	if len(named) > 0 {
		return named
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if inside, ok := strings.CutPrefix(line, "<"); ok && len(named) < maxBounceGroups {
			if address, rest, ok := strings.Cut(inside, ">"); ok && strings.HasPrefix(rest, ":") && plainAddress(address) != "" {
				named = append(named, plainAddress(address))
			}
		}
	}
	return named
}

// aroundCode cuts a long text down to what stands around its first code.
func aroundCode(words string) string {
	if len(words) <= maxDiagnostic {
		return words
	}
	if i := strings.Index(words, statusCodeIn(words)); i > 100 {
		return strings.TrimSpace(strings.ToValidUTF8(words[i-100:], ""))
	}
	return words
}

// statusCodeIn finds the first enhanced status code of a failure in a text; one
// that says something goes before one that does not.
func statusCodeIn(text string) (found string) {
	for _, word := range numbersIn(text) {
		if word = strings.TrimRight(word, "."); app.IsEnhancedCode(word) && word[0] != '2' {
			if _, subType := judgeCode(word); subType != "" {
				return word
			}
			if found == "" {
				found = word
			}
		}
	}
	return found
}

// replyCodeIn finds the first SMTP reply code of a failure in a text; 0: none.
func replyCodeIn(text string) int {
	for _, word := range numbersIn(text) {
		if len(word) == 3 && (word[0] == '4' || word[0] == '5') && word[1] <= '5' {
			if n, err := strconv.Atoi(word); err == nil {
				return n
			}
		}
	}
	return 0
}

// numbersIn returns the runs of digits and dots that stand free in a text.
func numbersIn(text string) (words []string) {
	for at := 0; at < len(text); {
		end := at
		for end < len(text) && isNumeric(text[end]) {
			end++
		}
		if end > at && (at == 0 || standsFree(text[at-1])) && (end == len(text) || standsFree(text[end])) {
			words = append(words, text[at:end])
		}
		at = end + 1
	}
	return words
}

func isNumeric(c byte) bool { return c >= '0' && c <= '9' || c == '.' }

func standsFree(c byte) bool {
	return c == ' ' || strings.IndexByte(`-#()[],;:"'<>=/`, c) >= 0 || c == '\t'
}
