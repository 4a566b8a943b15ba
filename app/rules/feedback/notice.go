package feedback

import (
	"strings"

	"mailer/app/rules/bounce"
)

// What a message without a readable delivery status is. The zero value is mail that reports
// nothing: an answer of a person or of a machine, a receipt, anything else.
type notice string

const (
	noticeBounce notice = "bounce"
	noticeDelay  notice = "delay"
)

// signs are what tells a bounce from an automatic answer.
type signs struct {
	failedField  bool   // X-Failed-Recipients (Exim, Gmail, mail.ru)
	report       bool   // multipart/report of a delivery status
	receipt      bool   // a disposition notification
	daemon       bool   // From is a mail program, or nobody
	signature    bool   // the text is one that mail programs write
	transcript   bool   // the text holds a reply of an SMTP server
	evidence     bool   // the text holds a code of a failure, or says why
	failedText   bool   // the text says that a message was not delivered
	null         bool   // it came with MAIL FROM:<>
	answerField  bool   // a header that automatic answers alone have
	answersOnly  bool   // Auto-Submitted: auto-replied, or a header that asks others not to answer
	auto         bool   // Auto-Submitted says that a machine wrote it
	continued    bool   // the text says that delivery is still tried
	list         bool   // of a mailing list
	subject      string // what the subject begins to say: failed, delayed, delivered, answer, reply
	subjectFirst bool   // it says so in its beginning, so that it is no copy of our own subject
}

// noticeRules say what a message is, by its signs; the first rule that fits counts. Both kinds
// come from the null sender, both call themselves auto-replied (RFC 3834 5), and the subject of
// ours that either repeats may say anything: so the structure decides before words do.
var noticeRules = []struct {
	because string
	fits    func(*signs) bool
	notice  notice
}{
	{"a receipt says that somebody was shown the message", func(s *signs) bool { return s.receipt }, ""},
	{"an out-of-office subject", func(s *signs) bool { return s.subject == "answer" && !s.failedField && !s.report }, ""},
	{"a header of automatic answers", func(s *signs) bool { return s.answerField && !s.failedField && !s.report && !s.signature }, ""},
	{"a notice of success", func(s *signs) bool { return s.subject == "delivered" && s.machine() && !s.failedField }, ""},
	{"a mail program says that it goes on trying", func(s *signs) bool {
		return s.machine() && (s.subject == "delayed" || s.continued && s.subject != "failed")
	}, noticeDelay},
	{"a header names who failed", func(s *signs) bool { return s.failedField }, noticeBounce},
	{"a report whose delivery status is missing", func(s *signs) bool { return s.report }, noticeBounce},
	{"a text that only mail programs write", func(s *signs) bool { return s.signature && (s.null || s.daemon) }, noticeBounce},
	{"a mail program that says why", func(s *signs) bool { return s.daemon && (s.subject == "failed" || s.evidence || s.failedText) }, noticeBounce},
	{"nobody sent it, its subject begins with a failure, and it quotes a server", func(s *signs) bool {
		return s.null && s.subject == "failed" && s.subjectFirst && s.transcript && !s.list
	}, noticeBounce},
	{"a machine that answers", func(s *signs) bool { return s.answersOnly || s.list || s.subject == "reply" }, ""},
	{"nobody sent it, and its subject begins with a delay", func(s *signs) bool { return s.null && s.subject == "delayed" && s.subjectFirst && !s.auto }, noticeDelay},
	{"nobody sent it, and its subject begins with a failure", func(s *signs) bool {
		return s.null && s.subject == "failed" && s.subjectFirst && (s.evidence || !s.auto)
	}, noticeBounce},
	{"nobody sent it, and it quotes a server", func(s *signs) bool { return s.null && s.transcript && !s.auto }, noticeBounce},
}

// machine reports whether a mail program surely wrote the message.
func (s *signs) machine() bool { return s.failedField || s.report || s.daemon || s.signature }

// notice says what a message without a readable delivery status is.
func (p *bounceParts) notice(text string, null bool) notice {
	s := p.signs(text, null)
	for _, rule := range noticeRules {
		if rule.fits(&s) {
			return rule.notice
		}
	}
	return ""
}

func (p *bounceParts) signs(text string, null bool) signs {
	h := p.header
	lower := strings.ToLower(text)
	words := bounceLine(text)
	s := signs{failedField: h.get("x-failed-recipients") != "", report: p.report, receipt: p.receipt, daemon: fromDaemon(decodeWords(firstBytes(h.get("from"), maxDiagnostic))),
		signature: containsAny(lower, programTexts), transcript: isTranscript(words), null: null, failedText: containsAny(lower, subjectKinds[0].phrases), continued: containsAny(lower, continuedPhrases),
		list: h.get("list-id") != "" || strings.EqualFold(h.get("precedence"), "list")}
	s.evidence = s.transcript || bounce.StatusIn(words) != "" || bounce.ReplyIn(words) != 0 || bounce.Classify(bounce.Evidence{Reply: words}).Reason != bounce.NoReason
	by := firstWord(strings.ReplaceAll(h.get("auto-submitted"), ";", " "))
	s.auto = strings.HasPrefix(by, "auto")
	s.answerField = h.isAutoReply()
	s.answersOnly = by == "auto-replied" || h.get("x-auto-response-suppress") != "" || h.get("x-ms-exchange-generated-message-source") != ""
	s.subject, s.subjectFirst = readSubject(h.subject())
	return s
}

// isAutoReply reports whether a header has fields that automatic answers alone have.
func (f fields) isAutoReply() bool {
	for _, name := range []string{"x-autoreply", "x-auto-reply", "x-autorespond", "x-autoresponder", "x-auto-responder", "x-autoreply-from", "x-mail-autoreply", "x-vacation", "x-autogenerated", "x-facebook-notify", "x-away"} {
		if f.get(name) != "" {
			return true
		}
	}
	for _, name := range []string{"precedence", "x-precedence", "preference"} {
		if v := strings.ToLower(f.get(name)); v == "auto_reply" || v == "auto-reply" {
			return true
		}
	}
	_, comment, _ := strings.Cut(strings.ToLower(f.get("auto-submitted")), "(")
	return strings.Contains(comment, "vacation") || strings.Contains(strings.ToLower(f.get("x-mailer")), "vacation") || strings.Contains(strings.ToLower(f.get("x-post-messageclass")), "autoresponder")
}

func (f fields) subject() string {
	s := decodeWords(firstBytes(f.get("subject"), maxDiagnostic))
	return strings.ToLower(strings.ReplaceAll(strings.TrimSpace(s), "’", "'"))
}

// readSubject finds what a subject says: of the phrases in it the first one, since the
// message's own subject stands behind. first: nothing stands before it.
func readSubject(subject string) (says string, first bool) {
	for _, re := range []string{"re:", "aw:", "sv:", "vs:", "antw:", "odp:", "fwd:", "fw:", "wg:", "tr:", "rv:", "enc:", "ynt:", "答复:", "回复:", "转发:"} {
		if strings.HasPrefix(subject, re) {
			return "reply", true
		}
	}
	for range 3 { // marks of gateways
		if rest, ok := strings.CutPrefix(subject, "["); ok && strings.Contains(rest, "]") {
			_, subject, _ = strings.Cut(rest, "]")
		} else if rest, ok := strings.CutPrefix(subject, "***"); ok && strings.Contains(rest, "***") {
			_, subject, _ = strings.Cut(rest, "***")
		}
		subject = strings.TrimSpace(subject)
	}
	at := len(subject)
	for _, kind := range subjectKinds {
		for _, phrase := range kind.phrases {
			if i := strings.Index(subject, phrase); i >= 0 && i < at {
				at, says = i, kind.says
			}
		}
	}
	return says, says != "" && at <= 2
}

// fromDaemon reports whether a From is that of a mail program, or says nobody.
func fromDaemon(from string) bool {
	name, address := from, from
	if i := strings.LastIndexByte(from, '<'); i >= 0 {
		name, address = from[:i], from[i+1:]
	}
	local, _, _ := strings.Cut(strings.ToLower(strings.Trim(address, " \t<>\"")), "@")
	name = strings.ToLower(strings.Trim(name, " \t\""))
	if local == "" || strings.HasPrefix(local, "microsoftexchange") || containsAny(name, daemonNames) {
		return true
	}
	for _, known := range daemonLocals {
		if local == known || strings.HasPrefix(local, known+"-") || strings.HasPrefix(local, known+"+") {
			return true
		}
	}
	return false
}

// isTranscript reports whether a text quotes an SMTP server: a reply code with an enhanced
// one behind it, or words that only introduce a reply.
func isTranscript(words string) bool {
	lower := strings.ToLower(words)
	if containsAny(lower, []string{"smtp error", "remote host said: 5", "remote server returned '5", "host said: 5", ") said: 5", "] said: 5", "server responded: 5", "<<< 5", "error from remote mail server"}) {
		return true
	}
	for at := 0; ; {
		n := strings.IndexAny(words[at:], "45")
		if n < 0 || at+n+9 > len(words) {
			return false
		}
		if at += n; at == 0 || words[at-1] < '0' || words[at-1] > '9' {
			pair := words[at:]
			if bounce.ReplyIn(pair[:3]) != 0 && (pair[3] == ' ' || pair[3] == '-') && bounce.IsStatus(firstWord(strings.TrimLeft(firstBytes(pair[4:], 12), "#("))) {
				return true
			}
		}
		at++
	}
}

func containsAny(s string, words []string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}
