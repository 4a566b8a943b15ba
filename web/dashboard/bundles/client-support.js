var updated="2026-05-13",clients=[["Apple Mail","macOS"],["Apple Mail","iOS"],["Gmail","web"],["Gmail","iOS"],["Gmail","Android"],["Outlook","Windows"],["Outloo\
k","macOS"],["Outlook","web"],["Outlook","iOS"],["Outlook","Android"],["Yahoo Mail",""],["Samsung Email",""],["Thunderbird",""],["GMX",""],["Proton Mail",""]],features=[
["accent-color","d","^accent-color:","yynnnnnnnnnyuun"],["align-items","d","^align-items:","yynnnnyyyynyyny"],["animation","d","^animation:","yynnnnnnnnnynnn"],
["aspect-ratio","d","^aspect-ratio:","yynnnnnnnnnnnny"],["@font-face","a","^@font-face","yynnnannnnnyynn"],["@keyframes","a","^@keyframes","yynnnnnnnnyyynn"],["\
@media (-webkit-device-pixel-ratio)","a","device-pixel-ratio","yynnnnyyyynynnn"],["@media (hover), @media (any-hover)","a","\\((any-)?hover","yynnnnyyyynyuuy"],
["@media (orientation)","a","\\(orientation","yaynynyyyynynyn"],["@media (prefers-color-scheme)","a","prefers-color-scheme","yynnnnyyyynynnn"],["@media (prefers\
-reduced-motion)","a","prefers-reduced-motion","yynnnnyyyynynna"],["@media","a","^@media","yyaaanaaaaaanya"],["@supports","a","^@supports","yynnnnnnnnyynnn"],["\
backdrop-filter","d","^backdrop-filter:","yynnnnynnnnyuny"],["background-blend-mode","d","^background-blend-mode:","yyyaanyyyynyyny"],["background-clip","d","^b\
ackground-clip:","yyyaanyyyynyyny"],["background-image","d","^background-image:","yyyyynyyyyayyay"],["background-origin","d","^background-origin:","yyyaanyyyyny\
yny"],["background-position","d","^background-position:","yyyyynyyyyyyyay"],["background-repeat","d","^background-repeat:","yyyyynyyyyyyyay"],["background-size",
"d","^background-size:","yyyaanyyyyyyyny"],["block-size & inline-size","d","^(block-size|inline-size):","yynnnnnnnnnyyny"],["border-image","d","^border-image:",
"yynnnnnnnnnyyny"],["border-inline & border-block individual logical properties","d","^border-(inline|block)-(start|end):","yynnnnnnnnnauny"],["border-inline & \
border-block longhand properties","d","^border-(inline|block)-(color|style|width):","yynnnnnnnnnyuny"],["border-inline & border-block","d","^(border-inline|bord\
er-block):","yynnnnnnnnnnuny"],["border-radius logical properties","d","^border-(start|end)-(start|end)-radius:","yynnnnnnnnnnuuy"],["border-radius","d","^borde\
r-radius:","yyyyynyyyyayyny"],["border-spacing","d","^border-spacing:","yyyyynnyyyyyyyy"],["box-shadow","d","^box-shadow:","yynaanyyyynyyny"],["box-sizing","d",
"^box-sizing:","yyyyynyyyynyyyy"],["caption-side","d","^caption-side:","yyyyynyyyyyyyyy"],["clear","d","^clear:","yyyyanuyyaayuay"],["clip-path","d","^clip-path\
:","yynnnnnnnnnyyny"],["color-scheme CSS property","d","^color-scheme:","yynnnnnnnnnyyny"],["column-count","d","^column-count:","yyyyynyyyynyyny"],["css column \
properties","d","^columns?(-(fill|rule|span|width).*)?:","yyyyynyyyynyyuy"],["conic-gradient()","d","[:\\s,(]conic-gradient\\(","yynnnnnnnnnayuy"],["cursor","d",
"^cursor:","annnnunnnnauyaa"],["display:flex","d","^display:(inline-)?flex","yyyaanyyyyyyyny"],["display:grid","d","^display:(inline-)?grid","yyyaanyyyyyyyny"],
["empty-cells","d","^empty-cells:","yyyyynyyyyyyuuy"],["filter","d","^filter:","yynnnnnnnnnyyny"],["flex-direction:column","d","^flex-direction:column","yynnnny\
yynnyyny"],["flex-wrap: wrap","d","^flex-wrap:wrap","yynnnnyyyynyyny"],["float","d","^float:","yyyaanyyyyayyay"],["font-kerning","d","^font-kerning:","yyyyynyyy\
ynyyny"],["font-size-adjust","d","^font-size-adjust:","yyyaanyyyyauyay"],["font-stretch","d","^font-stretch:","yyyynnyyynnnyuy"],["clamp()","d","[:\\s,(]clamp\\(",
"yyyaannnnnnayny"],["light-dark()","d","[:\\s,(]light-dark\\(","yynnnnnnnunayna"],["max()","d","[:\\s,(]max\\(","yyyaannnnnnayny"],["min()","d","[:\\s,(]min\\(",
"yyyaannnnnnayny"],["gap, column-gap, row-gap","d","^(column-|row-)?gap:","yyaaanaaaanyyny"],["grid-template-* properties","d","^grid-template","yynnnnnnnnnyyny"],
["height property","d","^height:","yyyyyayyyynyyyy"],["hyphenate-character","d","^hyphenate-character:","yynnnnnnnnnyuny"],["hyphenate-limit-chars","d","^hyphen\
ate-limit-chars:","nnnnnnnnnnnnnnu"],["hyphens","d","^hyphens:","yynnnnnnnnnyuuu"],["inert","e","^\\[inert\\]","yynnnnnnnnnyuuu"],["inline-size","d","^inline-si\
ze:","nnnnnnnnnnnyyny"],["inset","d","^inset:","yynnnnnnnnnnynu"],["fit-content, min-content, max-content","d",":.*\\b(fit|min|max)-content\\b","yyyaynyyaannyuy"],
["justify-content","d","^justify-content:","yynnnnyyyynyyny"],["left, right, top, bottom","d","^(left|right|top|bottom):","yynnnnyyyynayyy"],["linear-gradient()",
"d","[:\\s,(]linear-gradient\\(","yyyyannnnnnayny"],["list-style-image","d","^list-style-image:","yynnnnnnnnnyyyn"],["list-style-position","d","^list-style-posi\
tion:","yyyyynyyyyyyyyy"],["margin-block-start & margin-block-end","d","^(margin-block-start|margin-block-end):","yynnnnnnnnnyuny"],["margin-inline & margin-blo\
ck","d","^(margin-inline|margin-block):","yynnnnnnnnnnyny"],["margin-inline-start & margin-inline-end","d","^(margin-inline-start|margin-inline-end):","yynnnnnn\
nnnyuny"],["mask-image","d","^mask-image:","yynnnnynnnnyunu"],["max-block-size","d","^max-block-size:","yynnnnnnynnyuuy"],["max-height property","d","^max-heigh\
t:","yyyyynyyyyyyyyy"],["max-inline-size","d","^max-inline-size:","yynnnnnnnnnyuny"],["min-block-size","d","^min-block-size:","yynnnnnnnnnyuny"],["min-height pr\
operty","d","^min-height:","yyyyynyyyyyyyyy"],["min-inline-size","d","^min-inline-size:","yynnnnnnynnyuuy"],["min-width property","d","^min-width:","yyyyynyyyyy\
yyyy"],["mix-blend-mode","d","^mix-blend-mode:","yyyaanyyyynyyny"],["lch(), oklch(), lab(), oklab()","d",":.*\\b(ok)?(lch|lab)\\(","yynnnnnnnnnnnuy"],["object-f\
it","d","^object-fit:","yyyaanyyyynyyny"],["object-position","d","^object-position:","yyyaanyyyynyyny"],["opacity","d","^opacity:","yyyyynyyyyyyyny"],["orphans",
"d","^orphans:","yynnnnyyyynyuny"],["outline-offset","d","^outline-offset:","yynnnnnnnnnyyny"],["outline","d","^outline:","yyyyynyyyyyyyyy"],["overflow-wrap","d",
"^overflow-wrap:","aannnnnnnnnyuuu"],["overflow","d","^overflow:","aaaaanaaaaaayaa"],["padding-block-start & padding-block-end","d","^(padding-block-start|paddi\
ng-block-end):","yynnnnnnnnnyuny"],["padding-inline & padding-block","d","^(padding-inline|padding-block):","yynnnnnnnnnnuny"],["padding-inline-start & padding-\
inline-end","d","^(padding-inline-start|padding-inline-end):","yynnnnnnnnnyuny"],["position","d","^position:","aannnnaanaaayyy"],[":active","s",":active(?![\\w-]\
)","annnnnaanyynyyy"],[":checked","s",":checked(?![\\w-])","yynnnnaaaayyynn"],[":default","s",":default(?![\\w-])","yynnnnyayyyuynn"],[":first-child","s",":firs\
t-child(?![\\w-])","yynnnnaayyyyyyn"],[":first-of-type","s",":first-of-type(?![\\w-])","yynnnnaayyyyynn"],[":focus-visible","s",":focus-visible(?![\\w-])","yunn\
nnaauayyuuu"],[":focus-within","s",":focus-within(?![\\w-])","yunnnnanuayyuuu"],[":focus","s",":focus(?![\\w-])","ynnnnnaanyyyyyy"],[":has()","s",":has(?![\\w-])",
"yynnnnnnnnnynny"],[":hover","s",":hover(?![\\w-])","yyynanaanyyyyny"],["lang()","s",":lang\\(","yynnnnnnyynyuuy"],[":last-child","s",":last-child(?![\\w-])","y\
ynnnnaayyyyyyn"],[":last-of-type","s",":last-of-type(?![\\w-])","yynnnnaayyyyynn"],[":not","s",":not(?![\\w-])","yynnnnnnnnnyynn"],[":nth-child","s",":nth-child\
(?![\\w-])","yynnnnnnnnnyynn"],[":nth-last-child","s",":nth-last-child(?![\\w-])","yynnnnnnnnnyynn"],[":nth-last-of-type","s",":nth-last-of-type(?![\\w-])","yyn\
nnnnnnnnyynn"],[":nth-of-type","s",":nth-of-type(?![\\w-])","yynnnnnnnnnyynn"],[":only-child","s",":only-child(?![\\w-])","yynnnnaayyyyyyn"],[":only-of-type","s",
":only-of-type(?![\\w-])","yynnnnaayyyyyyn"],[":target","s",":target(?![\\w-])","nnnnnnaayyyyyyn"],["::after","s",":after(?![\\w-])","yynnnnaaannyynn"],["::befo\
re","s",":before(?![\\w-])","yynnnnaaannyynn"],["::first-letter","s",":first-letter(?![\\w-])","yynnnnaaanyyyyn"],["::first-line","s",":first-line(?![\\w-])","y\
ynnnnaaanyyyyn"],["::marker","s",":marker(?![\\w-])","yynnnnnnnnyyyuy"],["::placeholder","s",":placeholder(?![\\w-])","yynnnnaaanyyynn"],["radial-gradient()","d",
"[:\\s,(]radial-gradient\\(","yyyyannnnnnyyny"],["resize","d","^resize:","annnnnnnnnnyunu"],["rgba()","d","[:\\s,(]rgba\\(","yyaaanyyyyayyny"],["scroll-snap","d",
"^scroll-snap","yynnnnnnnnnyyuy"],["Adjacent sibling combinator","s","\\+","yyyaanyyyyyyyan"],["Attribute selector","s","\\[[a-z]","yyaaanaaaaayynn"],["Child co\
mbinator","s",">","yyyaanyyyyyyynn"],["General sibling combinator","s","~(?!=)","yyyaanyyyyyyynn"],["Universal selector *","s","(^|[\\s>+~(])\\*","yyyaanyyyyyyy\
yn"],["shape-margin","d","^shape-margin:","yynnnnynnnnyyuu"],["shape-outside","d","^shape-outside:","yynnnnynnnnyyuu"],["tab-size","d","^tab-size:","yynnnnyyynn\
yuny"],["table-layout","d","^table-layout:","yyyyynnyyyyyuuy"],["text-align-last","d","^text-align-last:","yyyyynnnnnnyuuy"],["text-decoration-color","d","^text\
-decoration-color:","yyyaanyyyyyyyny"],["text-decoration-line","d","^text-decoration-line:","yyyyynyyyyyyyny"],["text-decoration-skip-ink","d","^text-decoration\
-skip-ink:","yynnnnnnnnnyyny"],["text-decoration-style","d","^text-decoration-style:","yyyyynyyyyyyyny"],["text-decoration-thickness","d","^text-decoration-thic\
kness:","yynnnnnnnnnyyny"],["text-emphasis-position","d","^text-emphasis-position:","yynnnnynnnnnuny"],["text-emphasis","d","^text-emphasis:","yyyynnyyynnnuny"],
["text-justify","d","^text-justify:","nnannanannanuaa"],["text-orientation","d","^text-orientation:","yyyyynyyyynyyny"],["text-overflow","d","^text-overflow:","\
yyyaanyyyynnyny"],["text-shadow","d","^text-shadow:","yynnnnnnnnyyyyy"],["text-underline-offset","d","^text-underline-offset:","yynnnnnnnnnyyny"],["text-underli\
ne-position","d","^text-underline-position:","aayaynnyaynyyny"],["text-wrap","d","^text-wrap:","yynnnnnnnnnyuny"],["transform","d","^transform:","yynnnnnnnnnyyn\
y"],["transition","d","^transition:","yynnnnnnnnaayuy"],["CSS calc() function","d","\\bcalc\\(","yyyaannnnnnyyny"],["ch unit","d",":.*\\dch\\b","yyyyynyyyynyyny"],
["rem unit","d",":.*\\drem\\b","yyyyynyyyynyyny"],["vh unit","d",":.*\\dvh\\b","yayyynyyyyyyyny"],["vmax unit","d",":.*\\dvmax\\b","yyyyynyyyynyyny"],["vmin uni\
t","d",":.*\\dvmin\\b","yyyyynyyyynyyny"],["vw unit","d",":.*\\dvw\\b","yyyyynyyyyyyyny"],["user-select","d","^user-select:","yannnnnnnnnyuna"],["CSS Variables \
(Custom Properties)","d","^--|var\\(","yynnnnnnnnnyyny"],["visibility","d","^visibility:","yynnnnyyyyyyyyy"],["white-space-collapse","d","^white-space-collapse:",
"yynnnnnnnnnyuuy"],["white-space","d","^white-space:","yyyaanyyyyynyyy"],["widows","d","^widows:","yynnnnyyyynyuny"],["word-break","d","^word-break:","aayaayaaa\
anayny"],["word-spacing","d","^word-spacing:","yyyyynyyyyayyay"],["word-wrap","d","^word-wrap:","yyauanuyynyuuuu"],["writing-mode","d","^writing-mode:","yyyaany\
yyynyyny"],["z-index","d","^z-index:","yynnnnyyyyyyyyy"],["<abbr> element","e","^<abbr$","yyyyynyyyynyyyy"],["<acronym> element","e","^<acronym$","yyyyynyyyynyy\
yy"],["Local anchors","e","^<a href=#.","yyynyyyyyyanyyy"],["aria-describedby attribute","e","^\\[aria-describedby\\]$","yynnnnyyyynynny"],["aria-hidden attribu\
te","e","^\\[aria-hidden\\]$","yyyyyyyyyynynny"],["aria-label attribute","e","^\\[aria-label\\]$","yyyyyyyyyynynny"],["aria-labelledby attribute","e","^\\[aria-l\
abelledby\\]$","yynnnnynyynynny"],["aria-live attribute","e","^\\[aria-live\\]$","yyyyyannnnnynny"],["<audio> element","e","^<audio$","yynnnnnnnnnyynn"],["<base\
>","e","^<base$","yyaaayaaanayyna"],["<bdi> element","e","^<bdi$","yynnnnnnnnnyyny"],['<button type="reset"> element',"e","^<button type=reset$","yyyaynyynynyan\
y"],['<button type="submit"> element',"e","^<button type=submit$","yyyaynnnnyyyyny"],["<dialog> element","e","^<dialog$","yynnynnnnnnyynn"],["dir attribute","e",
"^\\[dir\\]$","yyyyyayyyyyyyny"],["<form> element","e","^<form$","yyyaynaayyyyynn"],["hidden attribute","e","^\\[hidden\\]$","yynnnnnnnnnyyny"],['<input type="c\
heckbox"> element',"e","^<input type=checkbox$","yyyyynyyyyyyann"],['<input type="hidden"> element',"e","^<input type=hidden$","yyyyynyyyyyyann"],['<input type=\
"radio"> element',"e","^<input type=radio$","yyyyynyyyyyyann"],['<input type="reset"> element',"e","^<input type=reset$","yyyaynyyyyyyann"],['<input type="submi\
t"> element',"e","^<input type=submit$","yyyaynnnyyyyynn"],['<input type="text"> element',"e","^<input type=text$","yyyyynyyynynann"],["lang attribute","e","^\\[\
lang\\]$","yyyyyyyyyyayyny"],["<link> element","e","^<link$","yynnnynnnnnnnnn"],["loading attribute","e","^\\[loading\\]$","yynnnnnnnnnyyny"],["<marquee> elemen\
t","e","^<marquee$","yynnnnaayyayyna"],["color-scheme meta tag","e","^<meta name=color-scheme","ynnnnnnnnnnnynn"],["<meter> element","e","^<meter$","yynnanyyyyn\
yyny"],["<object> element","e","^<object$","aynnnnnnnnnaann"],["<picture> element","e","^<picture$","aynnnnnnnnnyynn"],["popover attribute","e","^\\[popover\\]$",
"yynnnnnnnnnanun"],["<progress> element","e","^<progress$","yynnannnnnnyyny"],["required attribute","e","^\\[required\\]$","yynnannnyynyyna"],["<rp> element","e",
"^<rp$","yynnanyyyyyyyny"],["<rt> element","e","^<rt$","yynnanyyyyyyyny"],["<ruby> element","e","^<ruby$","yynnanyyyyyyyny"],["<select> element","e","^<select$",
"yayaynyyyyyyany"],["HTML5 semantics","e","^<(article|aside|details|figcaption|figure|footer|header|main|mark|nav|section|summary|time)$","yyaaanaaaanyyny"],["s\
rcset and sizes attributes","e","^\\[(srcset|sizes)\\]","yynnnnnnnnnyynn"],["Embedded <svg> image","e","^<svg$","aynnnnnnnnnyyny"],["<textarea> element","e","^<\
textarea$","yyyyynyyynynany"],["<video> element","e","^<video$","yannnnynnnnaynn"],["<wbr> element","e","^<wbr$","yyynanyyyyyyyny"],["Animated PNG image format",
"i","^apng$","yynynnyyynyyyyy"],["AVIF image format","i","^avif$","yyaaanyyyyyyyny"],["Base 64 image format","i","^base64$","yynnnayyyyyyyay"],["HEIF image form\
at","i","^hei[cf]$","yyaaanynynannna"],["ICO image format","i","^ico$","yyyyynyyyyyyyyy"],["SVG image format","i","^svg$","yynaayyyyyyyyyy"],["TIFF image format",
"i","^tiff?$","yyayanynynnnnny"],["webP image format","i","^webp$","yyaaanyyyyyyyyy"]];import{lib_core$Fragment,lib_core$batch,lib_core$cloneElement,lib_core$computed,lib_core$createContext,lib_core$effect,lib_core$h,lib_core$html,lib_core$render,
lib_core$signal,lib_core$untracked,lib_core$useCallback,lib_core$useComputed,lib_core$useContext,lib_core$useEffect,lib_core$useId,lib_core$useLayoutEffect,lib_core$useMemo,
lib_core$useReducer,lib_core$useRef,lib_core$useSignal,lib_core$useSignalEffect,lib_core$useState}from"./app.js";import{i18n$find,i18n$language,i18n$languages,i18n$preferred,i18n$say,i18n$speak,i18n$t}from"./app.js";import{ui_base$Bones,ui_base$Button,ui_base$Check,ui_base$Code,ui_base$Copy,ui_base$CopyButton,ui_base$Empty,ui_base$Facts,ui_base$Failed,ui_base$Field,ui_base$Head,
ui_base$Icon,ui_base$Id,ui_base$Input,ui_base$Notice,ui_base$Section,ui_base$Sections,ui_base$Seg,ui_base$Select,ui_base$Status,ui_base$Tabs,ui_base$Time,ui_base$Verdict,
ui_base$copy,ui_base$dialogs,ui_base$useEscape}from"./app.js";var most={source:1e6,uses:3e3,value:200};function usesOf(source){let uses={d:new Set,a:new Set,s:new Set,e:new Set,i:new Set},text=source.slice(0,most.source).replace(
/<!--[^]*?(?:-->|$)/g,"");for(let m of text.matchAll(/<style\b[^<>]*>([^]*?)(?:<\/style|$)/gi))sheet(m[1],uses);for(let m of text.matchAll(/<([a-z][a-z0-9]*)((?:\s+[^\s=<>"']+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s<>"']+))?)*)\s*\/?>/gi)){
let element=m[1].toLowerCase();add(uses.e,`<${element}`);for(let a of m[2].matchAll(/([^\s=>"']+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"']+)))?/g))attribute(element,
a[1].toLowerCase(),a[2]??a[3]??a[4]??"",uses)}return uses}function add(set,use){set.size<most.uses&&set.add(use.slice(0,most.value).toLowerCase())}function attribute(element,name,value,uses){
if(add(uses.e,`[${name}]`),add(uses.e,`<${element} ${name}=${value.slice(0,30)}`),name==="style"&&declarations(value,uses),(name==="src"&&element==="img"||name===
"background")&&image(value,uses),name==="srcset")for(let one of value.split(","))image(one.trim().split(/\s/)[0],uses)}function sheet(css,uses){let text=css.replace(
/\/\*[^]*?(?:\*\/|$)/g,"");for(let m of text.matchAll(/(?:^|[{};])([^{};]*)(?=\{)/g))add(uses[m[1].trim().startsWith("@")?"a":"s"],m[1].trim());for(let m of text.
matchAll(/\{([^{}]*)/g))declarations(m[1],uses)}function declarations(text,uses){for(let m of text.matchAll(/(?:^|;)\s*(-{0,2}[a-z][\w-]*)\s*:\s*([^;]+)/gi)){add(
uses.d,`${m[1]}:${m[2].trim()}`);for(let url of m[2].matchAll(/url\(\s*['"]?([^'")]+)/gi))image(url[1],uses)}}function image(address,uses){let data=/^\s*data:image\/([a-z]+)([^,]*)/i.
exec(address.slice(0,most.value));data?.[2].endsWith(";base64")&&add(uses.i,"base64"),add(uses.i,data?.[1]??/\.([a-z]{2,5})$/i.exec(address.split(/[?#]/,1)[0].trim())?.[1]??
"")}function named(support,letter){let names=new Map;return clients.forEach(([name,platform],i)=>{let all=names.get(name)??names.set(name,{of:0,has:[]}).get(name);
all.of++,support[i]===letter&&all.has.push(platform)}),[...names].filter(([,all])=>all.has.length).map(([name,all])=>all.has.length===all.of?name:`${name} (${all.
has.join(", ")})`).join(", ")}function lacking(source){let uses=usesOf(source),lacks=support=>support.split("n").length-1;return features.filter(([,kind,pattern])=>{
let seen=new RegExp(pattern);return[...uses[kind]].some(use=>seen.test(use))}).sort((a,b)=>lacks(b[3])-lacks(a[3])).map(([title,,,support])=>({title,none:named(
support,"n"),partly:named(support,"a"),count:lacks(support)}))}function ClientSupport({source}){let rows=lib_core$useMemo(()=>lacking(source),[source]),day=lib_core$html`<p class="t12 muted">${i18n$t(
"email.clientsOf",{n:clients.length,day:updated})} <a class="link" href="https://www.caniemail.com/" target="_blank" rel="noreferrer">caniemail.com</a></p>`;return lib_core$html`<${ui_base$Section} title=${i18n$t(
"email.clients")}>${rows.length?lib_core$html`<table class="table table--top stack-s"><thead><tr><th>${i18n$t("email.feature")}</th><th>${i18n$t("email.notIn")}</th><th>${i18n$t(
"email.partlyIn")}</th></tr></thead><tbody>${rows.map(row=>lib_core$html`<tr key=${row.title}><td class="mono">${row.title}</td><td class=${row.count>clients.length/
2?"medium":"ink2"} data-label=${i18n$t("email.notIn")}>${row.none}</td><td class="muted" data-label=${i18n$t("email.partlyIn")}>${row.partly||"–"}</td></tr>`)}</tbody></table>`:
lib_core$html`<p><${ui_base$Status} of="good" word=${i18n$t("email.clientsFine")} /></p>`}${day}<//>`}export{ClientSupport as default,lacking};
