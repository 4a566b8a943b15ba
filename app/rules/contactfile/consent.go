package contactfile

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ConsentRole says what a column says about whether a contact gets mail.
type ConsentRole string

// The roles. A column of ConsentHint may be about something else: only known words count.
const (
	ConsentAgreed    ConsentRole = "agreed"    // yes: agreed to mail
	ConsentRefused   ConsentRole = "refused"   // yes, or a time: opted out
	ConsentBounced   ConsentRole = "bounced"   // yes, a time or a reason: mail bounced
	ConsentComplaint ConsentRole = "complaint" // yes, a time or a reason: complained
	ConsentReason    ConsentRole = "reason"    // any text: reason or time of an opt-out
	ConsentSince     ConsentRole = "since"     // time of agreement
	ConsentStatus    ConsentRole = "status"    // a word: subscribed, unsubscribed, pending …
	ConsentHint      ConsentRole = "hint"
	ConsentLoose     ConsentRole = "loose" // like ConsentAgreed for yes and no, otherwise like ConsentHint
)

// consentField is the field of a column that is read for its role in addition to its other use.
const consentField = "consent"

// Words in headings that determine the role.
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

// consentRoleOf returns the role of a column by its heading; empty: none.
func consentRoleOf(heading string) ConsentRole {
	words := wordsOf(heading)
	folded := strings.Join(words, "")
	if folded == "" || utf8.RuneCountInString(folded) > 80 || strings.Contains(heading, "@") {
		return ""
	}
	bare := strings.TrimPrefix(folded, "is")
	switch {
	case genericStatus[folded]:
		return ConsentHint
	case looseHeadings[folded], looseHeadings[bare]:
		return ConsentLoose
	case endedHeadings[folded], endedHeadings[bare]:
		return endedRole(folded)
	case slices.ContainsFunc(words, func(w string) bool { return otherWords[w] }) && !hasStem(folded, blackLists):
		return ""
	}
	isTime, isReason := false, false
	for i, w := range words {
		isTime = isTime || timeWords[w] && (i > 0 || w != "on")
		isReason = isReason || causeWords[w]
	}
	stem := stemRole(words, folded)
	switch {
	case stem == "":
		if hasStem(folded, statusStems) && slices.ContainsFunc(words, func(w string) bool { return mailWords[w] }) {
			return ConsentStatus
		}
		return ""
	case hasStem(folded, statusStems) && stem != ConsentBounced && stem != ConsentComplaint:
		return ConsentStatus
	case stem == ConsentRefused && (isReason || isTime || strings.Contains(folded, "suppress")):
		return ConsentReason
	case stem == ConsentAgreed && (isTime || isReason):
		return ConsentSince
	}
	return stem
}

func endedRole(folded string) ConsentRole {
	switch {
	case hasStem(folded, complaintStems):
		return ConsentComplaint
	case strings.Contains(folded, "invalid"):
		return ConsentBounced
	}
	return ConsentRefused
}

// stemRole returns the role by word stems and negations; empty: none.
func stemRole(words []string, folded string) ConsentRole {
	switch {
	case hasStem(folded, refusalStems):
		if negated(words, folded, refusalStems) && !hasStem(folded, plainNegations) {
			return ConsentAgreed // "not unsubscribed"
		}
		return ConsentRefused
	case hasStem(folded, bounceStems):
		return ConsentBounced
	case hasStem(folded, complaintStems):
		return ConsentComplaint
	case hasStem(folded, pendingStems):
		return ConsentRefused
	case hasStem(folded, agreementStems):
		if negated(words, folded, agreementStems) {
			return ConsentRefused
		}
		return ConsentAgreed
	case slices.ContainsFunc(words, func(w string) bool { return negations[w] }) && slices.ContainsFunc(words, func(w string) bool { return mailWords[w] }):
		return ConsentRefused // "do not send news"
	case slices.Contains(noMailHeadings, folded):
		return ConsentRefused
	case slices.Contains(words, "accepts") || slices.Contains(words, "allow") || slices.Contains(words, "allows") || slices.Contains(words, "wants"):
		if slices.ContainsFunc(words, func(w string) bool { return mailWords[w] }) {
			return ConsentAgreed
		}
	}
	return ""
}

// noMailHeadings are negations without a separator.
var noMailHeadings = stemList(`noemail nomail nonewsletter nomarketing nocontact keinemail keinnewsletter geenmail`)

// plainNegations are stems of refusals that contain a negation.
var plainNegations = stemList(`donot dont nepas nocontactar noenviar noncontattare noninviare nãocontat nãocontact nãoenviar nietmailen nietcontact nietbenader niewysyla niekontakt keinewerbung`)

// read returns the meaning of a cell. Error: it can't be read.
func (s ConsentRole) read(text string) (ListStatus, error) {
	text = findAnswer(text)
	folded := fold(text)
	if folded == "" {
		return s.parseMark(text)
	}
	switch s {
	case ConsentReason:
		if noWords[folded] || isSubscribed(folded) {
			return subscribed, nil
		}
		return optedOut.strongest(outOf(text, folded)), nil
	case ConsentBounced, ConsentComplaint:
		if noWords[folded] || isSubscribed(folded) {
			return subscribed, nil
		}
		return s.yes(), nil
	}
	if yesWords[folded] || noWords[folded] {
		return s.flag(yesWords[folded], folded)
	}
	if folded == "x" && s == ConsentRefused {
		return optedOut, nil
	}
	if status, known := consentValues[folded]; known {
		return status, nil
	}
	if !parseTime(text).IsZero() || looksLikeTime(text) {
		return s.time()
	}
	if s == ConsentHint {
		return s.hint(folded)
	}
	if out := outOf(text, folded); out != subscribed {
		return out, nil
	}
	switch {
	case s == ConsentSince, s == ConsentLoose:
		return subscribed, nil
	case hasStem(folded, agreementStems) && !hasStem(folded, []string{"soft"}):
		return subscribed, nil
	}
	return subscribed, errUnreadConsent
}

var errUnreadConsent = errors.New("speaks of consent to mail in a word that is not known: the row is held back")

// isSubscribed reports whether a text means that the contact gets mail.
func isSubscribed(folded string) bool {
	status, known := consentValues[folded]
	return known && status == subscribed
}

// yes returns the meaning of yes in a column.
func (s ConsentRole) yes() ListStatus {
	switch s {
	case ConsentRefused, ConsentReason:
		return optedOut
	case ConsentBounced:
		return bounced
	case ConsentComplaint:
		return complained
	}
	return subscribed
}

// flag returns the meaning of yes or no.
func (s ConsentRole) flag(yes bool, folded string) (ListStatus, error) {
	switch s {
	case ConsentRefused, ConsentReason, ConsentBounced, ConsentComplaint:
		if yes {
			return s.yes(), nil
		}
		return subscribed, nil
	case ConsentHint:
		if folded == "0" || folded == "1" {
			return subscribed, errUnreadConsent
		}
		if folded == "false" || folded == "none" || folded == "never" {
			return optedOut, nil
		}
		return subscribed, nil
	}
	if yes {
		return subscribed, nil
	}
	return optedOut, nil
}

// time returns the meaning of a time: of a refusal, or of an agreement.
func (s ConsentRole) time() (ListStatus, error) {
	switch s {
	case ConsentRefused:
		return optedOut, nil
	case ConsentStatus:
		return subscribed, errUnreadConsent
	}
	return subscribed, nil
}

// hint returns the meaning of a word in a column that may be about something else.
func (s ConsentRole) hint(folded string) (ListStatus, error) {
	if strings.Trim(folded, "0123456789") == "" && len(folded) <= 2 {
		return subscribed, errUnreadConsent // a number with a meaning of the service
	}
	switch {
	case hasStem(folded, bounceStems) && !strings.Contains(folded, "soft"):
		return bounced, nil
	case hasStem(folded, complaintStems):
		return complained, nil
	case hasStem(folded, refusalStems), hasStem(folded, pendingStems), hasStem(folded, hintStems):
		return optedOut, nil
	}
	return subscribed, nil
}

// hintStems are those stems of endedStems that do not occur in states, plans or types of
// customers.
var hintStems = stemList(`inactiv notsub nonsub neversub noconsent nopermission optedout inaktiv inattiv inativ inactief nieaktywn désactiv desactiv disattiv desativ 無効 停止 停用 无效 無效 неактив`)

// parseMark reads a cell of symbols, or an empty one.
func (s ConsentRole) parseMark(text string) (ListStatus, error) {
	switch {
	case strings.ContainsAny(text, "✓✔☑✅"):
		return s.flag(true, "")
	case strings.ContainsAny(text, "✗✘❌✕☐⬜"):
		return s.flag(false, "")
	case s == ConsentAgreed, s == ConsentStatus:
		return subscribed, errors.New("is empty, but must show consent to mail: the row was not imported")
	}
	return subscribed, nil
}

// outOf reads a text of several words, or a word by its stem; subscribed: it does not refuse mail.
func outOf(text, folded string) ListStatus {
	if strings.Contains(folded, "soft") {
		return subscribed
	}
	words := wordsOf(text)
	switch {
	case hasStem(folded, bounceStems):
		return bounced
	case hasStem(folded, complaintStems):
		return complained
	case hasStem(folded, refusalStems):
		if negated(words, folded, refusalStems) && !hasStem(folded, plainNegations) {
			return subscribed
		}
		return optedOut
	case hasStem(folded, pendingStems), hasStem(folded, endedStems):
		return optedOut
	case slices.ContainsFunc(words, func(w string) bool { return negations[w] }), negated(nil, folded, agreementStems), hasStem(folded, isHan) && hasStem(folded, agreementStems):
		return optedOut
	}
	return subscribed
}

// findAnswer extracts the value from a JSON object, as Shopify writes it, or from quotes and a
// byte order mark.
func findAnswer(text string) string {
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

// looksLikeTime reports whether a text is a date in any order: at least eight digits and
// separators.
func looksLikeTime(text string) bool {
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

// consentColumns returns the columns of a table with a role that are not used otherwise.
func (h headingSet) consentColumns(taken []Column, left func(i int) bool) (out []Column) {
	for i := range h {
		sense := consentRoleOf(h[i])
		known := slices.ContainsFunc(taken, func(c Column) bool {
			return c.Index == i && c.Field != propertyField && c.Field != hintField
		})
		if sense == "" || known || left != nil && left(i) {
			continue
		}
		c := h.column(i, consentField, "", "")
		c.Role = sense
		out = append(out, c)
	}
	if slices.ContainsFunc(h, func(s string) bool { return fold(s) == "emaildisabled" }) { // in files of Substack the other column is about payment
		out = slices.DeleteFunc(out, func(c Column) bool { return fold(h[c.Index]) == "activesubscription" })
	}
	return out
}

// Consent is a column that decides who gets mail, and how it is interpreted.
type Consent struct {
	Column string
	Role   ConsentRole
	ReadAs string
}

// Consents returns the columns of a table that decide who gets mail.
func (s *Sheet) Consents() (out []Consent) {
	for i := range s.Columns {
		c := &s.Columns[i]
		sense := c.Role
		switch c.Field {
		case unsubscribedField:
			sense = ConsentRefused
		case optOutField:
			sense = ConsentReason
		case statusField:
			sense = ConsentStatus
		case hintField:
			sense = ConsentHint
		case bounceField:
			sense = ConsentBounced
		case complaintField:
			sense = ConsentComplaint
		case consentField:
		default:
			continue
		}
		out = append(out, Consent{Column: strings.Trim(c.Name, `"`), Role: sense, ReadAs: roleDescriptions[sense]})
	}
	return out
}

var roleDescriptions = map[ConsentRole]string{
	ConsentAgreed:    "yes: agreed to mail; no: opted out; anything else: the row is held back",
	ConsentRefused:   "yes or a date: opted out; no or empty: gets mail; anything else: the row is held back",
	ConsentReason:    "any text or date: opted out; no or empty: gets mail",
	ConsentBounced:   "anything but no: bounced, suppressed; empty: gets mail",
	ConsentComplaint: "anything but no: complained, suppressed; empty: gets mail",
	ConsentSince:     "a date: agreed to mail; no: opted out",
	ConsentStatus:    "a status such as subscribed, unsubscribed, pending or bounced; one that is not known: the row is held back",
	ConsentHint:      "a status, where the word is known",
	ConsentLoose:     "no: opted out; a status, where the word is known",
}
