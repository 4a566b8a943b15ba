package bounce

import "strings"

// Groups of words that phrases refer to by <name>.
var groups = map[string]string{
	"box":  "user|username|mailbox|recipient|addressee|account|address|addr|inbox|alias|receiver|customer|login|person",
	"gone": "unknown|nonexistent|inexistent|invalid|unrecognized|unrecognised",
	"off":  "disabled|deactivated|inactive|closed|terminated|discontinued|canceled|cancelled|deleted|removed",
	"de":   "zieladresse|mailadresse|empfaengeradresse|empfänger|empfaenger|empfängers|benutzer|benutzername|nutzer|postfach|mailbox|adresse|emailadresse|empfängeradresse|konto|account|adressat",
	"fr":   "destinataire|utilisateur|adresse|boîte|boite|compte|usager",
	"es":   "usuario|destinatario|buzón|buzon|cuenta|dirección|direccion|casilla",
	"it":   "utente|destinatario|casella|indirizzo|account|mailbox",
	"pt":   "usuário|usuario|destinatário|destinatario|conta|caixa|endereço|endereco|utilizador",
	"nl":   "gebruiker|ontvanger|geadresseerde|adres|postvak|mailbox|account",
	"pl":   "użytkownik|odbiorca|adresat|adres|konto|skrzynka",
	"ru":   "пользователь|получатель|адрес|ящик|адресат|аккаунт",
}

// phraseRow is a set of phrases with the same meaning. A phrase is words separated by blanks; *
// matches up to maxGap words; a|b are alternatives. Addresses and host names are removed from a
// text before it is searched.
type phraseRow struct {
	reason  Reason
	weak    bool // only means the mailbox if nothing contradicts
	phrases []string
}

// phraseRows are phrases of mail servers in order of precedence: of several matching rows the
// first one counts. Refusals that are not about the address come first, so that in doubt nobody is
// suppressed.
var phraseRows = []phraseRow{
	{Sender, false, []string{"sender address", "sender rejected", "sender denied", "sender refused", "sender blocked", "sender unknown", "unknown sender", "sender domain", "sender's domain", "sender verify",
		"sender verification", "sender callout", "verify * sender", "verifying sender", "invalid sender", "bad sender", "sender is not", "sender not", "sender does not exist", "sender invalid", "envelope sender", "envelope from",
		"mail from * rejected", "mail from * refused", "mail from domain", "from address * not", "from address * invalid", "return path * invalid", "return address * not", "domain of sender", "domain of the sender",
		"invalid dns mx or a aaaa resource record", "reverse dns", "ptr record", "bad helo", "helo * rejected", "ehlo * rejected", "absenderadresse", "absender * abgelehnt", "absender * unbekannt", "absender * ungültig",
		"expéditeur * refusé", "expéditeur * rejeté", "expéditeur * inconnu", "adresse expéditeur", "remitente * rechazado", "remitente * desconocido", "mittente * sconosciuto", "mittente * rifiutato", "remetente * rejeitado", "remetente * desconhecido"}},
	{Relaying, false, []string{"relay access denied", "relaying denied", "relaying * denied", "relay not permitted", "relaying not permitted", "relaying not allowed", "relaying is not allowed", "relaying prohibited", "unable to relay",
		"not permitted to relay", "not allowed to relay", "relay denied", "relay not allowed", "relay prohibited", "cannot relay", "can't relay", "does not relay", "do not relay", "relaying disallowed", "isn't in my list of allowed rcpthosts", "not in my list of allowed rcpthosts"}},
	{Rate, false, []string{"receiving mail at a rate", "receiving mail too quickly", "receiving email at a rate", "receiving * too quickly", "receiving * too many", "receivingrate", "receivingrateperm", "rate limit", "rate limits",
		"rate limited", "rate limiting", "ratelimit", "ratelimited", "rate exceeded", "rate control", "exceeded * rate", "exceeds * rate", "message rate", "sending rate", "sending limit", "sending limits", "sending quota", "daily limit", "daily quota", "hourly limit",
		"hourly quota", "messages per", "mails per", "emails per", "too much mail", "too much email", "throttle", "throttled", "throttling", "too quickly", "too fast", "too frequently", "too frequent", "too many messages|mails|emails|connections|recipients|deliveries|sessions|concurrent|requests|attempts|times|errors|bad",
		"number of messages", "limit for the number", "limit on the number", "maximum number of", "zu viele", "trop de", "demasiados", "troppi", "muitas mensagens", "te veel"}},
	{Full, false, []string{"<box> * full", "full mailbox", "full inbox", "quota", "overquota", "overquotaperm", "overquotatemp", "inboxfull", "mailboxfull", "exceeded storage", "exceeds * storage", "exceeded * storage", "storage exceeded", "storage limit", "storage * full", "storage space",
		"out of storage", "out of space", "insufficient storage", "insufficient system storage", "insufficient space", "insufficient disk", "not enough storage", "not enough space", "not enough disk", "no space left", "disk full", "disk is full",
		"mailbox size limit", "mailbox * exceeded * size", "mailbox * over * limit", "mailbox * over * size", "mailbox too large", "mailbox is too large", "too much data in mailbox",
		"<de> * voll", "<de> * überfüllt", "speicherplatz", "speicher * erschöpft", "speicher * voll", "<fr> * pleine", "<fr> * plein", "<fr> * saturée", "<es> * lleno", "<es> * llena", "<it> * piena", "<it> * pieno", "<pt> * cheia", "<pt> * cheio",
		"<nl> * vol", "<pl> * pełna", "<pl> * przepełniona", "<ru> * переполнен", "квота"}},
	{TooLarge, false, []string{"message * too large", "message * too big", "message * too long", "mail * too big", "mail * too large", "email * too large", "message size", "exceeds * size", "exceeded * size", "size limit", "maximum size", "size exceeds", "size exceeded", "too large for",
		"nachricht * zu groß", "mail * zu groß", "message * trop volumineux", "message * trop gros", "mensaje * demasiado grande", "messaggio * troppo grande", "mensagem * muito grande", "bericht * te groot"}},
	{Greylisted, false, []string{"greylist", "greylisted", "greylisting", "grey listed", "grey listing", "graylist", "graylisted", "graylisting", "postgrey"}},
	{Authentication, false, []string{"dmarc", "dkim", "spf", "unauthenticated", "sender policy", "sender id", "not authenticated", "authentication checks", "authentication results"}},
	{Spam, false, []string{"spam", "antispam", "anti spam", "spamming", "spammer", "spamhaus", "spamcop", "sorbs", "spamassassin", "rbl", "dnsbl", "dnsbls", "blocklist", "blocklists", "blocklisted", "block list", "blacklist", "blacklisted", "black list", "blacklists", "denylist", "denylisted", "deny list",
		"blocked", "blocking", "reputation", "poor reputation", "junk", "unsolicited", "bulk mail", "bulk email", "is listed", "are listed", "been listed", "currently listed", "ip listed", "abuse", "abusive", "complaints", "weren't sent", "were not sent", "banned", "suspicious", "suspected",
		"gesperrt", "blockiert", "werbung", "indésirable", "bloqué", "bloqueado", "bloccato", "geblokkeerd", "zablokowany", "спам", "заблокирован"}},
	{Content, false, []string{"virus", "viruses", "malware", "phishing", "trojan", "infected", "content rejected", "content denied", "content refused", "content filter", "content filtering", "message content", "prohibited content", "attachment * not", "attachment type", "attachment * blocked", "attachment * rejected", "attachments * not", "attachments * blocked", "executable", "harmful", "dangerous", "viren"}},
	{Policy, false, []string{"policy", "policies", "access denied", "not authorized", "not authorised", "unauthorized", "authorization", "not allowed", "not permitted", "isn't allowed", "aren't allowed", "administrative prohibition", "administratively", "prohibited", "restricted", "restriction", "restrictions", "permission to send", "don't have permission",
		"authentication required", "requires authentication", "authentication is required", "authrequired", "rejected by the recipient", "rejected by recipient", "refused by recipient", "message rejected", "message refused", "message was rejected", "message has been rejected", "mail rejected", "email rejected", "transaction rejected",
		"delivery denied", "permission denied", "forbidden", "not accepted", "will not accept", "won't accept", "refuses to accept", "does not accept mail from", "not accepting mail from", "not accepting messages from", "rejected due to", "rejected for", "whitelist", "allowlist", "safe senders", "richtlinie", "richtlinien", "nicht erlaubt", "nicht zugelassen", "zugriff verweigert", "non autorisé", "refusé par", "no autorizado", "non autorizzato", "não autorizado", "niet toegestaan"}},
	{Expired, false, []string{"message expired", "queue expired", "delivery time expired", "retry timeout exceeded", "retry time", "queue lifetime", "queued for too long", "message timed out", "delivery expired", "time limit", "couldn't be delivered in time", "max retry", "too long in queue", "been in the queue too long", "in the queue too long", "expired"}},
	{Temporary, false, []string{"try again later", "try later", "retry later", "try * later", "resend * later", "later time", "temporarily", "temporary", "is busy", "mailbox busy", "service unavailable", "service not available", "service is not available", "system not available", "server unavailable", "server busy", "server is busy", "resources temporarily", "mailbox locked", "mailbox is locked", "under maintenance",
		"vorübergehend", "später", "temporairement", "plus tard", "temporalmente", "más tarde", "temporaneamente", "più tardi", "temporariamente", "mais tarde", "tijdelijk", "tymczasowo", "временно"}},
	{Unreachable, false, []string{"host unknown", "unknown host", "host not found", "host or domain name not found", "domain not found", "domain does not exist", "domain doesn't exist", "domain not exist", "domain is not found", "domain name not found", "no such domain", "no such host", "unknown domain", "domain unknown", "domain is unknown",
		"domain invalid", "invalid domain", "domain is invalid", "name service error", "name server", "nxdomain", "servfail", "dns lookup", "dns error", "dns failure", "dns query", "dns server", "dns problem", "dns record", "dns records", "no mx", "mx record", "mx records", "infodomainnonexistent", "unrouteable", "unroutable", "cannot route", "can't route", "no route", "route to host", "unreachable", "connection timed out", "connection timeout", "timed out", "timeout",
		"connection refused", "connection reset", "connection dropped", "lost connection", "could not connect", "couldn't connect", "unable to connect", "cannot connect", "establish an smtp connection", "establish a connection", "no answer", "did not respond", "didn't respond", "not responding", "mail loop", "loops back", "loop detected", "routing loop", "mail for * loops",
		"too many hops", "hop count", "tls required", "tls handshake", "tls failed", "certificate verification", "certificate verify", "mail server * not respond", "mail server * not reachable", "mail server * not found", "smtp service * not", "domäne * nicht", "domain existiert nicht", "domain * unbekannt", "domaine * inconnu", "domaine n'existe pas", "dominio no existe", "dominio * inesistente", "dominio non esiste", "domínio não existe", "domein bestaat niet", "домен * не найден", "домен * не существует"}},
	{NullMX, false, []string{"nullmx", "null mx", "domain does not accept mail", "domain does not accept email", "domain does not accept any mail", "domain accepts no mail"}},
	{Disabled, false, []string{"<box> * <off>", "<off> <box>", "disableduser", "<box> * not active", "<box> * no longer active", "<box> * not enabled", "<box> * no longer in use", "<box> * no longer available", "<box> * no longer valid", "<box> * no longer used", "<box> * abandoned",
		"<de> * deaktiviert", "<de> * gelöscht", "<de> * geschlossen", "<de> * inaktiv", "<fr> * désactivé", "<fr> * désactivée", "<fr> * fermé", "<fr> * fermée", "<es> * desactivada", "<es> * deshabilitada", "<es> * inactiva", "<it> * disattivata", "<it> * disabilitata", "<it> * disattivato", "<pt> * desativada", "<pt> * inativa",
		"<nl> * uitgeschakeld", "<nl> * opgeheven", "<pl> * nieaktywne", "<pl> * zablokowane", "<ru> * отключен", "<ru> * удален"}},
	{NoMailbox, false, []string{"<box> * <gone>", "<gone> <box>", "unknown local <box>", "unknown local part", "unknown email <box>", "unknown e mail <box>", "unknown or illegal alias", "illegal alias", "<gone> local part", "no such <box>", "no such local <box>", "no such email", "no such e mail", "no such mail <box>", "no such virtual <box>", "no such name",
		"no mailbox", "no account", "no inbox", "no user", "no local mailbox", "no recipient", "there is no one", "nobody by that name", "nobody here by that name", "<box> * not found", "<box> * not be found", "<box> * couldn't be found", "<box> * wasn't found", "<box> * wasn't found at", "<box> * cannot be found", "<box> * can't be found",
		"cannot find <box>", "can't find <box>", "could not find <box>", "couldn't find <box>", "cannot find * <box>", "<box> * does not exist", "<box> * doesn't exist", "<box> * do not exist", "<box> * did not exist", "<box> * not exist", "<box> * not exists", "<box> * no longer exists", "<box> * no longer exist", "<box> * never existed",
		"<box> * not known", "<box> * not recognized", "<box> * not recognised", "<box> * not registered", "<box> * not a valid", "not a valid <box>", "not a valid mailbox", "isn't a valid <box>", "<box> * not valid", "<box> * isn't valid", "not a known user", "not a known recipient", "not a known address", "not our customer", "not our user", "no one here by that name", "no one by that name", "<box> * not hosted", "<box> * isn't hosted", "not a local <box>",
		"<box> * not listed", "not listed in * directory", "not listed in * book", "not in * directory", "recipientnotfound", "recipnotfound", "resolver adr", "nosuchuser", "usernotfound", "userunknown", "unknownuser", "bad destination mailbox", "bad destination <box>", "bad mailbox", "bad recipient", "bad address", "wrong recipient", "wrong address", "incorrect recipient",
		"illegal recipient", "illegal user", "illegal <box>", "doesn't have a * account", "does not have a * account", "doesn't have an account", "does not have an account", "has no account", "has no mailbox", "doesn't have a mailbox", "does not have a mailbox", "<box> * could not be located", "<box> * not located", "<box> * isn't here", "address error", "addressee * unknown",
		"<de> * unbekannt", "<de> * ungültig", "<de> * existiert nicht", "<de> * nicht gefunden", "<de> * nicht vorhanden", "<de> * nicht bekannt", "<de> * nicht existent", "<de> nicht existiert", "<de> * gibt es nicht", "unbekannter <de>", "unbekannte <de>", "unbekanntes <de>", "ungültiger <de>", "ungültige <de>", "ungültiges <de>", "kein <de>", "keine <de>", "kein solches <de>", "kein solcher <de>", "nicht existierende <de>",
		"<fr> * inconnu", "<fr> * inconnue", "<fr> * invalide", "<fr> * inexistant", "<fr> * inexistante", "<fr> * n'existe pas", "<fr> * n'existe plus", "<fr> * introuvable", "<fr> * pas été trouvé", "<fr> * pas été trouvée", "aucun <fr>", "aucune <fr>",
		"<es> * desconocido", "<es> * desconocida", "<es> * no existe", "<es> * inexistente", "<es> * no encontrado", "<es> * no encontrada", "<es> * inválido", "<es> * inválida", "<es> * no válido", "<es> * no válida", "no existe * <es>",
		"<it> * sconosciuto", "<it> * sconosciuta", "<it> * inesistente", "<it> * non esiste", "<it> * non trovato", "<it> * non trovata", "<it> * non valido", "<it> * non valida",
		"<pt> * desconhecido", "<pt> * desconhecida", "<pt> * não existe", "<pt> * não encontrado", "<pt> * não encontrada", "<pt> * inválido", "<pt> * inválida",
		"<nl> * onbekend", "<nl> * bestaat niet", "<nl> * niet gevonden", "<nl> * ongeldig", "onbekende <nl>", "ongeldige <nl>", "geen <nl>",
		"<pl> * nieznany", "<pl> * nie istnieje", "<pl> * nie znaleziono", "<pl> * nieprawidłowy", "nieznany <pl>", "brak <pl>", "nie ma takiego użytkownika",
		"<ru> * не найден", "<ru> * не существует", "<ru> * неизвестен", "<ru> * не зарегистрирован", "нет такого пользователя", "неизвестный <ru>", "несуществующий <ru>"}},
	{NoMailbox, true, []string{"mailbox unavailable", "unavailable mailbox", "mailbox is unavailable", "mailbox not available", "mailbox is not available", "mailbox name not allowed", "recipient unavailable", "account unavailable", "account not available", "account is unavailable", "postfach nicht verfügbar", "postfach nicht erreichbar"}},
	{Protocol, false, []string{"syntax error", "bad command", "unrecognized command", "command not", "command unrecognized", "command rejected", "out of sequence", "bad sequence", "protocol error"}},
}

// spelledTogether are phrases in languages without blanks between words.
var spelledTogether = []struct {
	reason  Reason
	phrases []string
}{
	{Full, []string{"容量を超", "いっぱいです", "邮箱已满", "信箱已滿", "空间不足", "超出配额", "용량이 초과", "메일함이 가득"}},
	{Spam, []string{"迷惑メール", "垃圾邮件", "垃圾郵件", "スパム", "스팸"}},
	{NoMailbox, []string{"ユーザーが存在しません", "ユーザが存在しません", "宛先が見つかりません", "アドレスが存在しません", "アドレスは存在しません", "宛先不明", "用户不存在", "收件人不存在", "邮箱不存在", "地址不存在", "用戶不存在", "收件人不存在", "帳號不存在", "账号不存在", "사용자를 찾을 수 없", "존재하지 않는 사용자", "존재하지 않는 계정", "존재하지 않는 주소"}},
}

// Phrases that decide only together with a code.
var (
	// deniedAtEdge is Exchange Online's refusal of an unknown address, under the code 5.4.1.
	deniedAtEdge = compile("recipient address rejected access denied")
	// rejectedAddress means the mailbox only under 5.1.0, which is about an address.
	rejectedAddress = []pattern{compile("address rejected"), compile("recipient rejected"), compile("recipient address rejected"), compile("rejected recipient"), compile("rejected address")}
)

// phrases is the result of searching a text.
type phrases struct {
	tokens []string
	first  Reason // of the first matching row; empty: none
	hard   Reason // of the first matching row that condemns the address
	weak   bool   // hard is from a weak row
}

// has reports whether a text contains one of some phrases.
func (p phrases) has(wanted ...pattern) bool {
	for at := range p.tokens {
		for _, w := range wanted {
			if w.matches(p.tokens, at) {
				return true
			}
		}
	}
	return false
}

// read searches the first maxText bytes of a text.
func read(text string) phrases {
	text = firstBytes(text, maxText)
	p := phrases{tokens: tokens(text)}
	first, hard := len(phraseRows), len(phraseRows)
	for at, word := range p.tokens {
		for _, x := range index[word] {
			if x.row < first && x.matches(p.tokens, at) {
				first = x.row
			}
			if x.row < hard && phraseRows[x.row].reason.Class() == Hard && x.matches(p.tokens, at) {
				hard = x.row
			}
		}
	}
	if first < len(phraseRows) {
		p.first = phraseRows[first].reason
	}
	if hard < len(phraseRows) {
		p.hard, p.weak = phraseRows[hard].reason, phraseRows[hard].weak
	}
	for _, row := range spelledTogether {
		for _, phrase := range row.phrases {
			if p.first == "" && strings.Contains(text, phrase) {
				if p.first = row.reason; row.reason.Class() == Hard {
					p.hard, p.weak = row.reason, false
				}
			}
		}
	}
	return p
}
