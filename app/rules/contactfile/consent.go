package contactfile

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Sense says how a column answers the question whether somebody gets mail.
type Sense string

// The senses. A column of SenseHint may be about something else: a word of it counts
// where it is known.
const (
	SenseAgreed   Sense = "agreed"    // yes: they agreed to mail
	SenseRefused  Sense = "refused"   // yes, or a time: they opted out
	SenseBounced  Sense = "bounced"   // yes, or a time or reason: mail came back
	SenseComplain Sense = "complaint" // likewise: they reported mail as spam
	SenseReason   Sense = "reason"    // any text: why or when they opted out
	SenseSince    Sense = "since"     // a time at which they agreed
	SenseStatus   Sense = "status"    // a word: subscribed, unsubscribed, pending …
	SenseHint     Sense = "hint"
	SenseLoose    Sense = "loose" // as SenseAgreed where it says yes or no, else as SenseHint
)

// consentField is a column that is read for its Sense, beside what else it may be.
const consentField = "consent"

// Words of headings that say what a column is about.
var (
	genericStatus = wordSet(`status state estado statut stato stan état toestand zustand 状態 ステータス 状态 狀態 статус состояние durum 상태 type subscribertype contactstatus`)
	statusStems   = stemList(`status state estado statut stato stan état zustand 状態 ステータス 状态 狀態 статус`)
	looseHeadings = wordSet(`subscription subscriptions newsletter newsletters mailing mailings mailinglist marketing emailmarketing marketingemail marketingemails
		promotions promotionalemails emailupdates emailsubscription activesubscription infolettre lettredinformation boletín boletim bollettino nieuwsbrief nieuwsbrieven
		ニュースレター メルマガ メールマガジン 通讯 電子報 邮件订阅 рассылка biuletyn active isactive enabled isenabled aktiv actif activo attivo ativo actief aktywny 有効
		confirmed isconfirmed emailconfirmed verified isverified emailverified bestätigt confirmé confirmado confermato bevestigd potwierdzony abonnement suscripción
		iscrizione inscrição inschrijving subskrypcja abonnent emailactive subscribe opt`)
	endedHeadings = wordSet(`inactive isinactive disabled isdisabled deleted isdeleted archived cancelled canceled blocked isblocked baja removed banned excluded spam junk invalid`)
	mailWords     = wordSet(`email emails mail mails mailing newsletter newsletters marketing contact contacts send news werbung subscription subscriptions subscriber abonnent suscripción iscrizione inscrição courriel correo correos posta nieuwsbrief メール 邮件 郵件 e`)
	otherWords    = wordSet(`ip id uid uuid url link href source quelle fuente fonte bron list lists liste listen lista listas segment segments plan plans tier text texte country page
		referrer referer campaign campaigns title count total number anzahl method version name tag tags form price product sku track tracking sms mms whats whatsapp phone mobile telefon push
		postal fax call calls process provider url rate score interest interests category soft gmt user agent order orders payment billing stripe shipping`)
	blackLists = stemList(`listenoire listanegra listanera zwartelijst czarnalista`)
	timeWords  = wordSet(`at on date time datetime timestamp since datum zeit zeitpunkt am fecha data ora heure le czas 日 日時 日付 时间 時間 日期 дата tarih`)
	causeWords = wordSet(`reason grund raison motif motivo razón reden powód 理由 原因 причина feedback`)
)

// senseOf tells by its heading how a column speaks of getting mail; empty: it does not.
func senseOf(heading string) Sense {
	words := wordsOf(heading)
	folded := strings.Join(words, "")
	if folded == "" || utf8.RuneCountInString(folded) > 80 || strings.Contains(heading, "@") {
		return ""
	}
	bare := strings.TrimPrefix(folded, "is")
	switch {
	case genericStatus[folded]:
		return SenseHint
	case looseHeadings[folded], looseHeadings[bare]:
		return SenseLoose
	case endedHeadings[folded], endedHeadings[bare]:
		return endedSense(folded)
	case slices.ContainsFunc(words, func(w string) bool { return otherWords[w] }) && !hasStem(folded, blackLists):
		return ""
	}
	isTime, isReason := false, false
	for i, w := range words {
		isTime = isTime || timeWords[w] && (i > 0 || w != "on")
		isReason = isReason || causeWords[w]
	}
	stem := stemSense(words, folded)
	switch {
	case stem == "":
		if hasStem(folded, statusStems) && slices.ContainsFunc(words, func(w string) bool { return mailWords[w] }) {
			return SenseStatus
		}
		return ""
	case hasStem(folded, statusStems) && stem != SenseBounced && stem != SenseComplain:
		return SenseStatus
	case stem == SenseRefused && (isReason || isTime || strings.Contains(folded, "suppress")):
		return SenseReason
	case stem == SenseAgreed && (isTime || isReason):
		return SenseSince
	}
	return stem
}

func endedSense(folded string) Sense {
	switch {
	case hasStem(folded, complaintStems):
		return SenseComplain
	case strings.Contains(folded, "invalid"):
		return SenseBounced
	}
	return SenseRefused
}

// stemSense tells by stems and negations what a yes in a column means; empty: nothing.
func stemSense(words []string, folded string) Sense {
	switch {
	case hasStem(folded, refusalStems):
		if negated(words, folded, refusalStems) && !hasStem(folded, plainNegations) {
			return SenseAgreed // "not unsubscribed"
		}
		return SenseRefused
	case hasStem(folded, bounceStems):
		return SenseBounced
	case hasStem(folded, complaintStems):
		return SenseComplain
	case hasStem(folded, pendingStems):
		return SenseRefused
	case hasStem(folded, agreementStems):
		if negated(words, folded, agreementStems) {
			return SenseRefused
		}
		return SenseAgreed
	case slices.ContainsFunc(words, func(w string) bool { return negations[w] }) && slices.ContainsFunc(words, func(w string) bool { return mailWords[w] }):
		return SenseRefused // "do not send news"
	case slices.Contains(noMailHeadings, folded):
		return SenseRefused
	case slices.Contains(words, "accepts") || slices.Contains(words, "allow") || slices.Contains(words, "allows") || slices.Contains(words, "wants"):
		if slices.ContainsFunc(words, func(w string) bool { return mailWords[w] }) {
			return SenseAgreed
		}
	}
	return ""
}

// noMailHeadings are negations that no blank separates.
var noMailHeadings = stemList(`noemail nomail nonewsletter nomarketing nocontact keinemail keinnewsletter geenmail`)

// plainNegations are the stems of refusals that hold a negation themselves.
var plainNegations = stemList(`donot dont nepas nocontactar noenviar noncontattare noninviare nãocontat nãocontact nãoenviar nietmailen nietcontact nietbenader niewysyla niekontakt keinewerbung`)

// read says what the text of a column means. Errors: the text can't be read.
func (s Sense) read(text string) (Standing, error) {
	text = answerIn(text)
	folded := fold(text)
	if folded == "" {
		return s.ofMark(text)
	}
	switch s {
	case SenseReason:
		if noWords[folded] || isStays(folded) {
			return stays, nil
		}
		return optedOut.and(outOf(text, folded)), nil
	case SenseBounced, SenseComplain:
		if noWords[folded] || isStays(folded) {
			return stays, nil
		}
		return s.yes(), nil
	}
	if yesWords[folded] || noWords[folded] {
		return s.flag(yesWords[folded], folded)
	}
	if folded == "x" && s == SenseRefused {
		return optedOut, nil
	}
	if standing, known := consentValues[folded]; known {
		return standing, nil
	}
	if !parseTime(text).IsZero() || looksTimed(text) {
		return s.time()
	}
	if s == SenseHint {
		return s.hint(folded)
	}
	if out := outOf(text, folded); out != stays {
		return out, nil
	}
	switch {
	case s == SenseSince, s == SenseLoose:
		return stays, nil
	case hasStem(folded, agreementStems) && !hasStem(folded, []string{"soft"}):
		return stays, nil
	}
	return stays, errUnreadConsent
}

var errUnreadConsent = errors.New("speaks of consent to mail in a word that is not known: the row is held back")

// isStays reports whether a text says that somebody gets mail.
func isStays(folded string) bool {
	standing, known := consentValues[folded]
	return known && standing == stays
}

// yes is what a yes in a column means.
func (s Sense) yes() Standing {
	switch s {
	case SenseRefused, SenseReason:
		return optedOut
	case SenseBounced:
		return bounced
	case SenseComplain:
		return complained
	}
	return stays
}

// flag reads a yes or a no.
func (s Sense) flag(yes bool, folded string) (Standing, error) {
	switch s {
	case SenseRefused, SenseReason, SenseBounced, SenseComplain:
		if yes {
			return s.yes(), nil
		}
		return stays, nil
	case SenseHint:
		if folded == "0" || folded == "1" {
			return stays, errUnreadConsent
		}
		if folded == "false" || folded == "none" || folded == "never" {
			return optedOut, nil
		}
		return stays, nil
	}
	if yes {
		return stays, nil
	}
	return optedOut, nil
}

// time reads a time: that of a refusal, or of an agreement.
func (s Sense) time() (Standing, error) {
	switch s {
	case SenseRefused:
		return optedOut, nil
	case SenseStatus:
		return stays, errUnreadConsent
	}
	return stays, nil
}

// hint reads a word of a column that may be about something else.
func (s Sense) hint(folded string) (Standing, error) {
	if strings.Trim(folded, "0123456789") == "" && len(folded) <= 2 {
		return stays, errUnreadConsent // the number that a service has for it
	}
	switch {
	case hasStem(folded, bounceStems) && !strings.Contains(folded, "soft"):
		return bounced, nil
	case hasStem(folded, complaintStems):
		return complained, nil
	case hasStem(folded, refusalStems), hasStem(folded, pendingStems), hasStem(folded, hintStems):
		return optedOut, nil
	}
	return stays, nil
}

// hintStems are those of endedStems that no state, plan or kind of customer holds.
var hintStems = stemList(`inactiv notsub nonsub neversub noconsent nopermission optedout inaktiv inattiv inativ inactief nieaktywn désactiv desactiv disattiv desativ 無効 停止 停用 无效 無效 неактив`)

// ofMark reads a cell of signs, or an empty one.
func (s Sense) ofMark(text string) (Standing, error) {
	switch {
	case strings.ContainsAny(text, "✓✔☑✅"):
		return s.flag(true, "")
	case strings.ContainsAny(text, "✗✘❌✕☐⬜"):
		return s.flag(false, "")
	case s == SenseAgreed, s == SenseStatus:
		return stays, errors.New("is empty, but must show consent to mail: the row was not imported")
	}
	return stays, nil
}

// outOf reads a text of several words, or of a word that only its stem tells; stays: it
// says nothing against mail.
func outOf(text, folded string) Standing {
	if strings.Contains(folded, "soft") {
		return stays
	}
	words := wordsOf(text)
	switch {
	case hasStem(folded, bounceStems):
		return bounced
	case hasStem(folded, complaintStems):
		return complained
	case hasStem(folded, refusalStems):
		if negated(words, folded, refusalStems) && !hasStem(folded, plainNegations) {
			return stays
		}
		return optedOut
	case hasStem(folded, pendingStems), hasStem(folded, endedStems):
		return optedOut
	case slices.ContainsFunc(words, func(w string) bool { return negations[w] }), negated(nil, folded, agreementStems), hasStem(folded, hans) && hasStem(folded, agreementStems):
		return optedOut
	}
	return stays
}

// answerIn takes the answer out of an object of JSON, as Shopify writes it, or of the
// quotes and a mark of byte order that a program left around it.
func answerIn(text string) string {
	text = strings.Trim(text, "\ufeff\"'“”„ \t")
	if !strings.HasPrefix(text, "{") {
		return text
	}
	var members map[string]jsontext.Value
	if json.Unmarshal([]byte(text), &members) != nil {
		return text
	}
	for _, name := range []string{"state", "status", "consent", "marketing_state", "value"} {
		if v, ok := members[name]; ok {
			return strings.Trim(string(v), `"`)
		}
	}
	return text
}

// looksTimed reports whether a text is a date of any order: digits and what separates
// them, eight at least.
func looksTimed(text string) bool {
	digits, others := 0, 0
	for _, r := range text {
		switch {
		case r >= '0' && r <= '9':
			digits++
		case !strings.ContainsRune("-/.: +年月日", r):
			others++
		}
	}
	return digits >= 6 && others <= 4 && others < digits
}

// consentColumns are those of a table that speak of getting mail and are not read for
// that already.
func (h headingSet) consentColumns(taken []Column, left func(i int) bool) (out []Column) {
	for i := range h {
		sense := senseOf(h[i])
		known := slices.ContainsFunc(taken, func(c Column) bool {
			return c.Index == i && c.Field != propertyField && c.Field != hintField
		})
		if sense == "" || known || left != nil && left(i) {
			continue
		}
		c := h.column(i, consentField, "", "")
		c.Sense = sense
		out = append(out, c)
	}
	if slices.ContainsFunc(h, func(s string) bool { return fold(s) == "emaildisabled" }) { // Substack: the other one is about money
		out = slices.DeleteFunc(out, func(c Column) bool { return fold(h[c.Index]) == "activesubscription" })
	}
	return out
}

// Consent is a column that decides who gets mail, and how it is read.
type Consent struct {
	Column string
	Sense  Sense
	ReadAs string
}

// Consents names the columns of a table that decide who gets mail.
func (s *Sheet) Consents() (out []Consent) {
	for i := range s.Columns {
		c := &s.Columns[i]
		sense := c.Sense
		switch c.Field {
		case unsubscribedField:
			sense = SenseRefused
		case optOutField:
			sense = SenseReason
		case statusField:
			sense = SenseStatus
		case hintField:
			sense = SenseHint
		case bounceField:
			sense = SenseBounced
		case complaintField:
			sense = SenseComplain
		case consentField:
		default:
			continue
		}
		out = append(out, Consent{Column: strings.Trim(c.Name, `"`), Sense: sense, ReadAs: senseWords[sense]})
	}
	return out
}

var senseWords = map[Sense]string{
	SenseAgreed:   "yes: agreed to mail; no: opted out; anything else: the row is held back",
	SenseRefused:  "yes or a date: opted out; no or empty: gets mail; anything else: the row is held back",
	SenseReason:   "any text or date: opted out; no or empty: gets mail",
	SenseBounced:  "anything but no: bounced, suppressed; empty: gets mail",
	SenseComplain: "anything but no: complained, suppressed; empty: gets mail",
	SenseSince:    "a date: agreed to mail; no: opted out",
	SenseStatus:   "a status such as subscribed, unsubscribed, pending or bounced; one that is not known: the row is held back",
	SenseHint:     "a status, where the word is known",
	SenseLoose:    "no: opted out; a status, where the word is known",
}
