package inbound

// Words of mail programs in the ten languages of the dashboard (English, German, French, Spanish,
// Portuguese, Italian, Dutch, Polish, Japanese, Chinese) and some others, in lower case.
var (
	// wroteWords are in the line before a quote, like "On 3 May 2026, Ann wrote:".
	wroteWords = []string{"wrote", "schrieb", "geschrieben", "a écrit", "écrit", "escribió", "ha escrito", "escreveu", "ha scritto", "scrisse", "schreef", "geschreven", "napisał", "napisała", "napisał(a)", "napisana przez", "pisze", "書きました", "のメール", "のメッセージ", "様は", "写道", "寫道", "写到",
		"skrev", "napsal", "kirjoitti", "írta", "yazdı", "пишет", "написал", "написала", "писал", "пише", "έγραψε", "a scris", "작성"}
	// beginsWrote begin such a line. Abbreviated days are followed by a dot or a comma.
	beginsWrote = []string{"on ", "am ", "le ", "el ", "em ", "no dia ", "il ", "op ", "w dniu ", "dnia ", "wiadomość napisana przez ", "在", "於", "den ", "dne ",
		"pon.", "wt.", "śr.", "czw.", "pt.", "sob.", "niedz.", "lun.", "mar.", "mer.", "jeu.", "ven.", "sam.", "dim.", "gio.", "sab.", "dom.", "mié.", "jue.", "vie.", "sáb.", "seg.", "ter.", "qua.", "qui.", "sex.",
		"pon,", "wt,", "śr,", "czw,", "pt,", "sob,", "niedz,", "lun,", "mar,", "mer,", "gio,", "ven,", "sab,", "dom,"}

	// originalWords are in a line of dashes before a quoted message.
	originalWords = []string{"original message", "original email", "original appointment", "ursprüngliche nachricht", "originalnachricht", "original-nachricht", "ursprüngliche mail", "message d'origine", "message original", "message initial", "mensaje original", "mensagem original", "messaggio originale", "oorspronkelijk bericht", "origineel bericht",
		"wiadomość oryginalna", "oryginalna wiadomość", "元のメッセージ", "元のメール", "オリジナルメッセージ", "原始邮件", "原邮件", "邮件原件", "原始郵件", "原始訊息", "回复的邮件", "ursprungligt meddelande", "oprindelig meddelelse", "původní zpráva", "alkuperäinen viesti", "исходное сообщение"}

	// forwardPrefixes begin the subjects of forwarded mail, whose quoted text is what it says.
	forwardPrefixes = []string{"fwd:", "fw:", "wg:", "tr:", "rv:", "enc:", "i:", "doorst:", "pd:", "przek.:", "vl:", "転送:", "转发:", "轉寄:", "转发：", "fwd：", "fw："}
)

// label is what a field of a quoted header says.
type label byte

const (
	labelFrom label = iota + 1
	labelDate
	labelTo
	labelCc
	labelSubject
)

// labels are the names of the fields that Outlook and others put before a quoted message.
var labels = func() map[string]label {
	all := map[string]label{}
	for kind, names := range map[label][]string{
		labelFrom:    {"from", "von", "de", "expéditeur", "remitente", "remetente", "da", "mittente", "van", "od", "差出人", "送信者", "发件人", "寄件者", "寄件人", "från", "fra", "lähettäjä", "kimden", "от", "від", "보낸 사람"},
		labelDate:    {"sent", "date", "gesendet", "datum", "envoyé", "envoyé le", "date d'envoi", "enviado", "enviado el", "fecha", "enviada em", "enviado em", "enviada", "data", "inviato", "data invio", "verzonden", "wysłano", "wysłane", "送信日時", "日付", "日時", "送信日", "发送时间", "发送日期", "日期", "時間", "时间", "寄件日期", "skickat", "sendt", "lähetetty", "odesláno", "отправлено", "дата"},
		labelTo:      {"to", "an", "à", "destinataire", "para", "a", "destinatario", "destinatários", "per", "aan", "do", "宛先", "收件人", "收件者", "till", "til", "komu", "vastaanottaja", "кому"},
		labelCc:      {"cc", "bcc", "kopie", "kopia", "copie", "copia", "dw", "udw", "抄送", "副本", "copie à", "ccn", "cci", "копия"},
		labelSubject: {"subject", "betreff", "objet", "sujet", "asunto", "assunto", "oggetto", "onderwerp", "temat", "件名", "主题", "主旨", "主題", "ämne", "emne", "předmět", "aihe", "тема"},
	} {
		for _, name := range names {
			all[name] = kind
		}
	}
	return all
}()

// sentFrom begin the lines that programs on telephones add, which name one of sentDevices.
var sentFrom = []string{"sent from ", "sent via ", "sent with ", "sent using ", "get outlook for ", "get bluemail ", "yahoo mail: search, organize, conquer", "download outlook",
	"von meinem ", "von meiner ", "gesendet von ", "gesendet mit ", "gesendet über ", "diese nachricht wurde von meinem ", "outlook für ", "holen sie sich outlook", "beziehen sie outlook",
	"envoyé de ", "envoyé depuis ", "envoyé à partir d", "envoyé avec ", "télécharger outlook", "obtenez outlook", "obtenir outlook",
	"enviado desde ", "enviado de", "enviado do ", "enviado con ", "enviado a partir d", "enviado pelo ", "enviado através d", "enviada do ", "obtener outlook", "obter o outlook", "obtenha o outlook", "descargar outlook", "baixar o outlook",
	"inviato da", "inviato con ", "inviata da", "scarica outlook", "ottieni outlook",
	"verstuurd vanaf ", "verzonden vanaf ", "verzonden met ", "verstuurd met ", "verstuurd via ", "verzonden via ", "outlook voor ", "outlook downloaden",
	"wysłane z ", "wysłano z ", "wysłane za ", "pobierz outlook", "pobierz aplikację outlook",
	"iphoneから送信", "ipadから送信", "androidから送信", "スマートフォンから送信", "outlook for ios を入手", "outlook for android を入手", "ios 版 outlook を入手", "yahoo!メール - ",
	"发自我的", "从我的", "發自我的", "從我的", "发送自", "来自我的", "获取 outlook", "获取适用于", "發送自", "來自我的", "从 windows", "从手机",
	"skickat från ", "sendt fra ", "lähetetty ", "odesláno z", "отправлено с", "отправлено из", "iphone'umdan", "나의 iphone"}

// sentDevices are what such lines name: a device or a program.
var sentDevices = []string{"phone", "ipad", "ios", "android", "samsung", "galaxy", "huawei", "xiaomi", "pixel", "blackberry", "outlook", "yahoo", "gmail", "proton", "tuta", "aol", "gmx", "web.de", "thunderbird", "bluemail", "mobile", "mobil", "handy", "tablet", "apple watch", "app mail", "mail app", "mail-app",
	"for windows", "für windows", "pour windows", "para windows", "per windows", "voor windows", "dla windows", "téléphone", "portable", "móvil", "movil", "celular", "telemóvel", "teléfono", "telefon", "cellulare", "telefoon", "komórk", "スマートフォン", "携帯", "手机", "手機", "windows 邮件", "邮箱", "айфон"}
