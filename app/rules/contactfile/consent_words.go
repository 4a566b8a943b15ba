package contactfile

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// fold returns a heading or value in the form of the tables in this file: only letters and digits,
// in lower case, without accents.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == 'ł':
			return 'l'
		case r == 'ø':
			return 'o'
		case r == 'ı':
			return 'i'
		case unicode.IsLetter(r), unicode.IsDigit(r):
			return r
		}
		return -1
	}, norm.NFKD.String(strings.ReplaceAll(strings.ToLower(s), "ß", "ss")))
}

// wordsOf splits a heading or value into folded words, also at capitals: acceptsMarketing,
// HasOptedOutOfEmail.
func wordsOf(s string) (words []string) {
	var b strings.Builder
	lower := false
	for _, r := range strings.NewReplacer("'", "", "’", "").Replace(s) {
		if unicode.IsUpper(r) && lower || !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) {
			b.WriteByte(' ')
		}
		lower = unicode.IsLower(r)
		b.WriteRune(r)
	}
	for word := range strings.FieldsSeq(b.String()) {
		if word = fold(word); word != "" {
			words = append(words, word)
		}
	}
	return words
}

// wordSet returns a set of folded words.
func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		set[fold(word)] = true
	}
	return set
}

// stemList returns folded beginnings or parts of words.
func stemList(text string) (stems []string) {
	for word := range strings.FieldsSeq(text) {
		stems = append(stems, fold(word))
	}
	return stems
}

func hasStem(text string, stems []string) bool {
	for _, stem := range stems {
		if strings.Contains(text, stem) {
			return true
		}
	}
	return false
}

// Answers in the languages of the dashboard and some others.
var (
	yesWords = wordSet(`yes y true t 1 on ok okay yep ja j wahr oui vrai sí s verdadero cierto vero sim verdadeiro waar tak t prawda
		はい 有 可 是 对 真 evet doğru ano áno da да так sì checked selected agree accept jest juist 예 네 да`)
	noWords = wordSet(`no n false f 0 off nope nein falsch non faux falso não nao nee onwaar nie fałsz いいえ 無 不可 否 不 假 没有 没 なし
		hayır yanlış ne nu нет ні none never null nil na nan nicht niemals jamais aucun aucune nunca ninguno ninguna mai nessuno nessuna
		nenhum nenhuma nooit geen nigdy brak keine kein 아니요 unchecked`)
)

// Word stems about consent. Refusals are searched first: "unsubscribed" contains "subscribed".
var (
	refusalStems = stemList(`unsub optout optedout optsout optingout optdout donotemail donotmail donotcontact donotsend donotmarket dontemail dontcontact
		blacklist blocklist denylist suppress emaildisabled disabledemail stopstatus stoptime stopmail globalunsub optedoff mailoff emailoff
		abgemeldet abmeld abbestell widerspr widerruf werbesperre mailsperre gesperrt austrag ausgetragen keinewerbung
		désabonn désinscri désinscrip opposition nepascontacter nepasenvoyer listenoire seDésinscrire résili
		desuscri desuscrito dadodebaja dadadebaja debaja fechadebaja fechabaja nocontactar noenviar listanegra bloquead desinscri
		disiscri disdett noncontattare noninviare listanera bloccat annullaiscri cancellatodalla
		descadastr desinscrev cancelouinscri cancelouassin nãocontatar nãocontactar nãoenviar
		afgemeld afmeld uitgeschreven uitschrij nietmailen nietcontacteren nietbenaderen geblokkeerd zwartelijst
		wypisan wypisał rezygn niewysyła niekontaktow zablokowan czarnalist sprzeciw cofnięt
		配信停止 購読解除 登録解除 購読停止 退会 配信不可 配信拒否 受信拒否 送信不可 オプトアウト 解除 退订 退訂 取消订阅 取消訂閱 黑名单 黑名單 拒收 屏蔽
		abonelikten отписа отписан чёрныйсписок відписа odhlášen avregistrer avmeldt avprenumer 수신거부 구독취소`)
	bounceStems = stemList(`bounce undeliver cleaned unzustellbar rebond rebote rebotad rimbalz devolvid onbestelbaar niedostarcz 配信不能 退信 無効アドレス
		hardbounce invalidemail emailinvalid invalidaddress недостав 반송`)
	complaintStems = stemList(`complain complaint spam junk abuse plainte queja reclamo beschwer klacht skarg denuncia 苦情 迷惑 投诉 投訴 举报 жалоб`)
	agreementStems = stemList(`subscribed optin optedin optsin consent acceptsmarketing acceptmarketing acceptsemail acceptemail acceptsnewsletter marketingallowed
		emailallowed allowemail allowmarketing allowsmarketing oktoemail oktomail oktocontact emailok mayemail maycontact canemail cancontact receiveemail
		receivesemail receivenewsletter receivesnewsletter receivemarketing wantsemail wantsnewsletter getsemail agreedto agreesto permission mailable marketable gdpr
		angemeldet abonniert einwillig eingewilligt zustimmung zugestimmt werbeerlaubnis erlaubnis einverstanden dsgvo
		abonné inscrit inscription consentement accepteles acceptemail acceptelanews autoris rgpd
		suscrit suscript consentimiento acepta autoriza
		iscritt consenso accett autorizz
		inscrit inscrev consentimento aceita aceito autoriz
		ingeschreven aangemeld geabonneerd toestemming akkoord
		zapisan subskryb zgod zgoda
		購読 同意 配信許可 受信許可 許可 承諾 オプトイン 订阅 訂閱 许可 授权 подписан согласи згод prenumer samtycke souhlas 구독 동의 izin onay`)
	pendingStems = stemList(`pending unconfirm notconfirm awaiting waitingfor unverif notverif unactivated validating notyet invited
		ausstehend unbestätigt nichtbestätigt wartend enattente nonconfirm pendiente sinconfirmar noconfirmad inattesa inattivabile nonconfermat pendente
		aguardando nãoconfirm inafwachting onbevestigd nietbevestigd oczekuj niepotwierdz 保留 未確認 未承認 仮登録 未認証 待确认 待確認 待定 未确认 ожида неподтвер`)
	endedStems = stemList(`inactiv notactive deactiv cancel annul removed deleted disabled archived revoked withdr declin refus reject denied stopped banned
		exclud nonmarketing notmarketing nonsub notsub neversub noconsent nopermission doesnotaccept redacted transactional needsattention
		inaktiv deaktiv gekündigt gelöscht abgelehnt verweigert zurückgezogen inactif désactiv supprim révoqu retiré
		inactiv desactiv eliminad revocad rechaz inattiv disattiv eliminat revocat rifiut cancellat inativ desativ cancelad excluíd revogad recus removid
		inactief gedeactiveerd verwijderd ingetrokken geweigerd opgezegd nieaktywn usunięt odrzuc wycofan anulow
		無効 非アクティブ 停止 削除 拒否 解約 停用 无效 無效 删除 刪除 拒绝 拒絕 撤回 неактив удал отказ отозва 비활성 거부`)
	negations = wordSet(`not no non never dont doesnt didnt isnt wont without nicht kein keine keinen keiner nie niemals ohne ne pas jamais sans aucun sin nunca
		ningún senza mai não nao sem niet geen nooit zonder nie bez brak не нет hayır`)
	joinedWords = stemList(`not non never no nicht kein keine nie pas nao niet geen nieza bez без`) // directly before a stem
	isHan       = stemList(`未 不 非 無 没 沒 无`)
)

// consentValues are values about consent that are valid under any heading, except those recognized
// by stem.
var consentValues = func() map[string]ListStatus {
	out := map[string]ListStatus{}
	for status, text := range map[ListStatus]string{
		subscribed: `active subscribed enabled confirmed optedin optin regular valid mailable accepted granted agreed verified allowed permitted express implied explicit
			aktiv abonniert angemeldet bestätigt eingewilligt erteilt actif active abonné abonnée inscrit inscrite confirmé confirmée accordé accepté
			activo activa suscrito suscrita confirmado confirmada aceptado attivo attiva iscritto iscritta confermato confermata accettato
			ativo ativa inscrito inscrita assinante aceito aceite actief geabonneerd ingeschreven aangemeld bevestigd akkoord
			aktywny aktywna zapisany zapisana subskrybent potwierdzony potwierdzona 有効 アクティブ 購読中 購読 登録済み 登録済 配信中 同意 同意する 許可
			活跃 有效 已订阅 已訂閱 订阅 訂閱 已确认 已確認 已激活 активен подписан подтверждён`,
		optedOut: `unsubscribed optedout optout nonsubscribed nonsubscriber unconfirmed inactive pending cancelled canceled removed deleted disabled archived stopped
			transactional invalid excluded expired lapsed baja abgemeldet desabonné`,
		bounced:      `cleaned bounced hardbounced hardbounce bounce undeliverable`,
		complained:   `junk spam complained complaint complainer spamcomplaint abuse markedasspam`,
		unsubscribed: `blocklisted blacklisted blocked suppressed`,
	} {
		for word := range strings.FieldsSeq(text) {
			out[fold(word)] = status
		}
	}
	for word, status := range statusWords {
		out[fold(word)] = status
	}
	return out
}()

// negated reports whether a text is negated by one of its words, or by the text before a stem.
func negated(words []string, folded string, stems []string) bool {
	for _, word := range words {
		if negations[word] {
			return true
		}
	}
	for _, stem := range stems {
		if before, _, found := strings.Cut(folded, stem); found {
			for _, no := range joinedWords {
				if strings.HasSuffix(before, no) {
					return true
				}
			}
			if hasStem(before, isHan) {
				return true
			}
		}
	}
	return false
}
