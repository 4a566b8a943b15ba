package pages

// archiveText holds the texts of the pages of archives in one language.
type archiveText struct {
	archives  string // title of the list of archives
	subscribe string
	older     string
	newest    string // link from an older page to the first
	empty     string
	feed      string
	back      string // from an issue to its archive; {topic} is its name
	dateForm  string // layout of a day
}

// archiveTexts are the texts by language.
var archiveTexts = map[string]archiveText{
	"en": {"Archive", "Subscribe", "Older issues", "Newest issues", "Nothing has been published yet.", "Feed", "All issues of {topic}", "2 January 2006"},
	"de": {"Archiv", "Abonnieren", "Ältere Ausgaben", "Neueste Ausgaben", "Noch wurde nichts veröffentlicht.", "Feed", "Alle Ausgaben von {topic}", "2.1.2006"},
	"fr": {"Archives", "S’abonner", "Numéros plus anciens", "Derniers numéros", "Rien n’a encore été publié.", "Flux", "Tous les numéros de {topic}", "02/01/2006"},
	"es": {"Archivo", "Suscribirse", "Números anteriores", "Últimos números", "Todavía no se ha publicado nada.", "Canal RSS", "Todos los números de {topic}", "02/01/2006"},
	"pt": {"Arquivo", "Assinar", "Edições anteriores", "Edições mais recentes", "Ainda não há nada publicado.", "Feed", "Todas as edições de {topic}", "02/01/2006"},
	"it": {"Archivio", "Iscriviti", "Numeri precedenti", "Numeri più recenti", "Non è ancora stato pubblicato nulla.", "Feed", "Tutti i numeri di {topic}", "02/01/2006"},
	"nl": {"Archief", "Abonneren", "Oudere edities", "Nieuwste edities", "Er is nog niets gepubliceerd.", "Feed", "Alle edities van {topic}", "2-1-2006"},
	"pl": {"Archiwum", "Subskrybuj", "Starsze wydania", "Najnowsze wydania", "Nic jeszcze nie opublikowano.", "Kanał RSS", "Wszystkie wydania: {topic}", "2.01.2006"},
	"ja": {"アーカイブ", "購読する", "以前の号", "最新の号", "まだ何も公開されていません。", "フィード", "「{topic}」のすべての号", "2006年1月2日"},
	"zh": {"存档", "订阅", "更早的期刊", "最新的期刊", "尚未发布任何内容。", "订阅源", "“{topic}”的所有期刊", "2006年1月2日"},
}
