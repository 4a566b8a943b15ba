package feedback

import (
	"strings"

	"mailer/app/rules/bounce"
)

// notice is the kind of a message without a readable delivery status. The zero value is not a
// report: an answer of a person or program, a receipt, or other mail.
type notice string

const (
	noticeBounce notice = "bounce"
	noticeDelay  notice = "delay"
)

// signs are the properties that distinguish a bounce from an automatic reply.
type signs struct {
	failedField  bool   // X-Failed-Recipients (Exim, Gmail, mail.ru)
	report       bool   // a multipart/report with a delivery status
	receipt      bool   // a disposition notification
	daemon       bool   // From is a mail program, or empty
	signature    bool   // the text begins like that of a mail program
	transcript   bool   // the text contains an SMTP reply
	evidence     bool   // the text contains a failure code or reason
	failedText   bool   // the text says that delivery failed
	null         bool   // it came with MAIL FROM:<>
	answerField  bool   // a header that only automatic replies have
	answersOnly  bool   // Auto-Submitted: auto-replied, or a header that suppresses replies
	auto         bool   // Auto-Submitted says that a program wrote it
	continued    bool   // the text says that delivery is still being tried
	list         bool   // of a mailing list
	subject      string // meaning of the subject: failed, delayed, delivered, answer, reply
	subjectFirst bool   // at its beginning, so not a copy of our subject
}

// noticeRules decide what a message is; the first matching rule counts. Bounces and automatic
// replies both come from the null sender, both may have auto-replied (RFC 3834 5), and both may
// repeat our subject, which may say anything. Therefore the structure decides before phrases do.
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

// machine reports whether a mail program certainly wrote the message.
func (s *signs) machine() bool { return s.failedField || s.report || s.daemon || s.signature }

// notice returns what a message without a readable delivery status is.
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

// isAutoReply reports whether a header has fields that only automatic replies have.
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
	return plainSubject(decodeWords(firstBytes(f.get("subject"), maxDiagnostic)))
}

// plainSubject returns a subject as it is compared with phrases.
func plainSubject(s string) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimSpace(s), "’", "'"))
}

// readSubject returns the meaning of the first phrase in a subject, since the original subject
// comes later. first: nothing precedes it.
func readSubject(subject string) (meaning string, first bool) {
	for _, re := range []string{"re:", "aw:", "sv:", "vs:", "antw:", "odp:", "fwd:", "fw:", "wg:", "tr:", "rv:", "enc:", "ynt:", "答复:", "回复:", "转发:"} {
		if strings.HasPrefix(subject, re) {
			return "reply", true
		}
	}
	for range 3 { // prefixes of gateways
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
				at, meaning = i, kind.meaning
			}
		}
	}
	return meaning, meaning != "" && at <= 2
}

// AnswerSubject reports whether a decoded subject is that of an automatic answer, such as "Out of
// office", in any known language. first: only tags in brackets precede its phrase. A subject that
// begins like a person's answer ("Re:") is none. The phrases alone prove nothing: people write them
// too.
func AnswerSubject(subject string) (answer, first bool) {
	meaning, first := readSubject(plainSubject(subject))
	return meaning == "answer", meaning == "answer" && first
}

// fromDaemon reports whether a From is that of a mail program, or empty.
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

// isTranscript reports whether a text quotes an SMTP server: a reply code followed by an enhanced
// one, or a phrase that introduces a reply.
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
