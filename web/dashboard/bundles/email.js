import{lib_core$Fragment,lib_core$batch,lib_core$cloneElement,lib_core$computed,lib_core$createContext,lib_core$effect,lib_core$h,lib_core$html,lib_core$render,
lib_core$signal,lib_core$untracked,lib_core$useCallback,lib_core$useComputed,lib_core$useContext,lib_core$useEffect,lib_core$useId,lib_core$useLayoutEffect,lib_core$useMemo,
lib_core$useReducer,lib_core$useRef,lib_core$useSignal,lib_core$useSignalEffect,lib_core$useState}from"./app.js";import{api$ApiError,api$address,api$api,api$forget,api$proof,api$request,api$silent,api$useGet,api$useList}from"./app.js";import{format$ago,format$clock,format$day,format$duration,format$exact,format$gap,format$mailbox,format$number,format$percent,format$relative,format$seconds,format$short,
format$size,format$stamp}from"./app.js";import{i18n$find,i18n$language,i18n$languages,i18n$preferred,i18n$say,i18n$speak,i18n$t}from"./app.js";import{router$base,router$go,router$href,router$match,router$place,router$setQuery,router$start}from"./app.js";import{emails$Live,emails$default}from"./app.js";import{emails_query$addressOf,emails_query$ask,emails_query$completions,emails_query$isId,emails_query$keys,emails_query$read,emails_query$sources,emails_query$statuses,
emails_query$timeOf,emails_query$timeOfId,emails_query$written}from"./app.js";import{email_parts$curlOf,email_parts$dialogueOf,email_parts$lookOf,email_parts$recipientsOf,email_parts$replyOf}from"./app.js";import{paths$domainIn,paths$encoded,paths$fileAt,paths$idOf,paths$isId,paths$isPath,paths$ownDomain}from"./app.js";import{ui_base$Bones,ui_base$Button,ui_base$Check,ui_base$Code,ui_base$Copy,ui_base$CopyButton,ui_base$Empty,ui_base$Facts,ui_base$Failed,ui_base$Field,ui_base$Head,
ui_base$Icon,ui_base$Id,ui_base$Input,ui_base$Notice,ui_base$Section,ui_base$Sections,ui_base$Seg,ui_base$Select,ui_base$Status,ui_base$Tabs,ui_base$Time,ui_base$Verdict,
ui_base$copy,ui_base$dialogs,ui_base$useEscape}from"./app.js";import{ui_float$DialogBody,ui_float$Dialogs,ui_float$Menu,ui_float$Toasts,ui_float$attempt,ui_float$confirm,ui_float$dialog,ui_float$toast,ui_float$useAsked}from"./app.js";function Acts({email,people,reload}){let waits=people.some(p=>["deferred","queued","held","scheduled"].includes(p.state)),scheduled=email.last_event==="schedule\
d",held=email.state==="held",act=(path,word,options)=>ui_float$attempt(async()=>{let result=await api$api.post(paths$encoded`/emails/${email.id}/${path}`);return await reload(),
result},word&&i18n$t(word),options),cancel=async()=>{await ui_float$confirm({title:i18n$t("email.cancelTitle"),text:i18n$t("email.cancelText"),act:i18n$t("email\
.cancel")})&&await act("cancel","email.canceled")},remove=async()=>{await ui_float$confirm({title:i18n$t("email.deleteTitle"),text:i18n$t(waits?"email.deleteWai\
ts":"email.deleteText"),act:i18n$t("email.delete")})&&await ui_float$attempt(()=>api$api.del(paths$encoded`/emails/${email.id}`),i18n$t("email.deleted"))&&router$go(
"/emails")},retry=()=>act("retry","email.retried"),release=()=>ui_float$attempt(async()=>{let result=await api$api.post("/queue/release",{ids:[email.id]});return await reload(),
result},result=>result.changed?i18n$t("queue.done.release",{n:result.changed}):i18n$t("queue.done.nothing")),gone=email.html===null&&email.text===null&&!email.attachments.
length,lone=people.length===1&&people[0].state==="suppressed";return lib_core$html`${held&&lib_core$html`<${ui_base$Button} icon="play" kind="primary" onClick=${release}>${i18n$t(
"queue.verbs.release")}<//>`}${waits&&!scheduled&&!held&&lib_core$html`<${ui_base$Button} icon="refresh" onClick=${retry}>${i18n$t("email.retry")}<//>`}${scheduled&&
lib_core$html`<${ui_base$Button} icon="edit" onClick=${()=>reschedule(email,reload)}>${i18n$t("email.reschedule")}<//>`}
	${!email.broadcast_id&&!scheduled&&!gone&&lib_core$html`<${ui_base$Button} icon="send" class="hide-s" onClick=${()=>resend(email)}>${i18n$t("email.resend")}<//>`}
	<${ui_float$Menu} label=${i18n$t("ui.acts")} items=${[!email.broadcast_id&&!gone&&{icon:"send",name:i18n$t("email.resend"),run:()=>resend(email)},{icon:"link",
name:i18n$t("email.share"),run:()=>share(email)},{icon:"code",name:i18n$t("email.curl"),run:async()=>ui_float$toast(await ui_base$copy(email_parts$curlOf(email))?
i18n$t("email.curlCopied"):i18n$t("email.notCopied"))},...lone?[]:people.filter(p=>["suppressed","bounced","complained"].includes(p.state)).slice(0,5).map(p=>({
icon:"shield",name:i18n$t("email.liftOf",{address:p.address}),run:()=>lift(p.address)})),null,waits&&{icon:"x",name:i18n$t("email.cancel"),danger:!0,run:cancel},
{icon:"trash",name:i18n$t("email.delete"),danger:!0,run:remove}]} />`}async function resend(email){let id=await ui_float$dialog(close=>lib_core$html`<${Resend} email=${email} close=${close} />`);
typeof id=="string"&&(ui_float$toast(i18n$t("email.resent")),router$go(paths$encoded`/emails/${id}`))}function Resend({email,close}){let[to,setTo]=lib_core$useState(
email.to.join(", ")),[wrong,setWrong]=lib_core$useState(""),send=async()=>{try{let list=to.split(/,(?![^<"]*[">])/).map(a=>a.trim()).filter(Boolean),same=list.join()===
email.to.join();close((await api$api.post(paths$encoded`/emails/${email.id}/resend`,same?void 0:{to:list},{headers:{"Idempotency-Key":crypto.randomUUID()}})).id)}catch(e){
if(!(e instanceof api$ApiError))throw e;setWrong(e.message)}};return lib_core$html`<${ui_float$DialogBody} title=${i18n$t("email.resendTitle")} onSubmit=${send} acts=${lib_core$html`<${ui_base$Button} kind="quiet" onClick=${()=>close()}>${i18n$t(
"ui.cancel")}<//><${ui_base$Button} type="submit" kind="primary">${i18n$t("email.resend")}<//>`}><p>${i18n$t("email.resendText")}</p><${ui_base$Input} label=${i18n$t(
"email.to")} value=${to} onInput=${setTo} error=${wrong} autofocus /><//>`}async function reschedule(email,reload){await ui_float$dialog(close=>lib_core$html`<${Reschedule} email=${email} close=${close} />`)&&
(ui_float$toast(i18n$t("email.rescheduled")),await reload())}function Reschedule({email,close}){let[when,setWhen]=lib_core$useState(""),[wrong,setWrong]=lib_core$useState(
""),local=emails_query$timeOf(when),hint=local&&local>new Date?format$exact(local):i18n$t("email.rescheduleHint",{at:format$clock(email.scheduled_at)}),save2=async()=>{
try{await api$api.patch(paths$encoded`/emails/${email.id}`,{scheduled_at:local&&local>new Date?local.toISOString():when}),close(!0)}catch(e){if(!(e instanceof api$ApiError))
throw e;setWrong(e.message)}};return lib_core$html`<${ui_float$DialogBody} title=${i18n$t("email.reschedule")} onSubmit=${save2} acts=${lib_core$html`<${ui_base$Button} kind="quiet" onClick=${()=>close()}>${i18n$t(
"ui.cancel")}<//><${ui_base$Button} type="submit" kind="primary" disabled=${!when.trim()}>${i18n$t("email.reschedule")}<//>`}><${ui_base$Input} label=${i18n$t("\
email.when")} placeholder="tomorrow at 9am" value=${when} onInput=${v=>{setWhen(v),setWrong("")}} hint=${hint} error=${wrong} autofocus /><//>`}var share=email=>ui_float$dialog(
close=>lib_core$html`<${Share} email=${email} close=${close} />`);function Share({email,close}){let[span,setSpan]=lib_core$useState("24h"),[url,setUrl]=lib_core$useState(
""),make=()=>ui_float$attempt(async()=>setUrl((await api$api.post(paths$encoded`/emails/${email.id}/share`,{expires_in:span})).url));return lib_core$html`<${ui_float$DialogBody} title=${i18n$t(
"email.share")} onSubmit=${url?()=>close():make} acts=${url?lib_core$html`<${ui_base$Button} type="submit" kind="primary">${i18n$t("ui.close")}<//>`:lib_core$html`<${ui_base$Button} kind="quiet" onClick=${()=>close()}>${i18n$t(
"ui.cancel")}<//><${ui_base$Button} type="submit" kind="primary">${i18n$t("email.makeLink")}<//>`}>
		<p>${i18n$t("email.shareText")}</p>${url?lib_core$html`<${ui_base$Field} label=${i18n$t("email.link")}>${attributes=>lib_core$html`<span class="row"><input class="input mono" readonly value=${url} onFocus=${e=>e.
currentTarget.select()} ...${attributes} /><${ui_base$Button} icon="copy" label=${i18n$t("ui.copy")} onClick=${async()=>{await ui_base$copy(url)&&ui_float$toast(
i18n$t("ui.copied"))}} /></span>`}<//>`:lib_core$html`<${ui_base$Select} label=${i18n$t("email.validFor")} value=${span} onChange=${setSpan} options=${["1h","24\
h","48h"].map(s=>[s,i18n$t(`email.spans.${s}`)])} />`}<//>`}async function lift(address){let found2=await ui_float$attempt(()=>api$api.get(paths$encoded`/suppressions/${address}`));
if(!found2)return;let cause=found2.source_id&&lib_core$html` <a class="link" href=${router$base+paths$encoded`/emails/${found2.source_id}`} target="_blank" rel="noopener">${i18n$t(
"email.cause")}</a>`;await ui_float$confirm({title:i18n$t("email.liftTitle",{address}),text:lib_core$html`${i18n$t(`email.origins.${found2.origin}`)}${cause} ${i18n$t(
"email.liftText")}`,act:i18n$t("email.lift")})&&await ui_float$attempt(()=>api$api.post("/suppressions/batch/remove",{emails:[address]}),i18n$t("email.lifted",{
address}))}import{ui_frame$Paper}from"./app.js";var tabs=email=>[["preview",i18n$t("email.tabs.preview")],["text",i18n$t("email.tabs.text")],["html",i18n$t("email.tabs.html")],["headers",i18n$t("email.tabs.he\
aders")],["raw",i18n$t("email.tabs.raw")],["attachments",i18n$t("email.tabs.attachments"),email.attachments.length],["checks",i18n$t("email.tabs.checks")],["con\
versation",i18n$t("email.tabs.conversation")]],shownLength=2e5;function Tab({at,email,live}){switch(at){case"text":return lib_core$html`<${Source} text=${email.
text} name="text/plain" file="email.txt" none=${i18n$t("email.noText")} />`;case"html":return lib_core$html`<${Source} text=${email.html} name="text/html" file="email.html" none=${i18n$t(
"email.noHtml")} />`;case"headers":return lib_core$html`<${Headers} email=${email} />`;case"raw":return lib_core$html`<${Raw} id=${email.id} />`;case"attachment\
s":return lib_core$html`<${Attachments} email=${email} />`;case"checks":return lib_core$html`<${Checks} email=${email} />`;case"conversation":return lib_core$html`<${Conversation} id=${email.
id} live=${live} />`}return email.html?lib_core$html`<${ui_frame$Paper} of=${paths$encoded`/emails/${email.id}/preview`} />`:lib_core$html`<${Source} text=${email.
text} name="text/plain" file="email.txt" none=${i18n$t("email.noText")} />`}function save(text,file){let a=document.createElement("a");a.href=URL.createObjectURL(
new Blob([text],{type:"application/octet-stream"})),a.download=file,a.click(),setTimeout(()=>URL.revokeObjectURL(a.href),6e4)}function Source({text,bytes,name,file,
none}){if(!text)return lib_core$html`<${ui_base$Empty} icon="code" title=${none} />`;let long=text.length>shownLength;return lib_core$html`<div class="stack stack--2"><div class="wide"><${ui_base$Code} name=${`${name}\
, ${format$size(new Blob([text]).size)}`} code=${long?text.slice(0,shownLength):text} /></div>
	${long&&lib_core$html`<p class="t12 muted">${i18n$t("email.cutOff",{n:shownLength})} <${ui_base$Button} icon="download" onClick=${()=>save(bytes??text,file)}>${i18n$t(
"email.download")}<//></p>`}</div>`}function linesOf(message){let end=message.search(/\r?\n\r?\n/);return(end<0?message:message.slice(0,end)).replace(/\r?\n[ \t]+/g,
" ").split(/\r?\n/).map(line=>[line.slice(0,line.indexOf(":")),line.slice(line.indexOf(":")+1).trim()])}function Headers({email}){let own=[["Message-ID",email.message_id],
["From",email.from],["To",email.to.join(", ")],["Cc",email.cc.join(", ")],["Reply-To",email.reply_to.join(", ")],["Subject",email.subject],...Object.entries(email.
headers??{})].filter(([,v])=>v);return lib_core$html`<${HeaderTable} lines=${own} /><p class="t12 muted">${i18n$t("email.headersNote")}</p>`}var HeaderTable=({lines})=>lib_core$html`<table class="table table--top"><thead class="vh"><tr><th>${i18n$t(
"email.header")}</th><th>${i18n$t("email.value")}</th></tr></thead><tbody>${lines.map(([name,value])=>lib_core$html`<tr><td class="mono nowrap">${name}</td><td class="break"><bdi>${String(
value)}</bdi></td></tr>`)}</tbody></table>`,exactly=raw=>raw.raw_base64&&Uint8Array.from(atob(raw.raw_base64),c=>c.charCodeAt(0));function Raw({id}){let[got,set]=lib_core$useState(
{});return lib_core$useEffect(()=>{let current=!0;return api$api.get(paths$encoded`/emails/${id}/raw`).then(raw=>current&&set({raw}),error=>{if(!(error instanceof
api$ApiError))throw error;current&&set({error})}),()=>{current=!1}},[id]),got.error?.status===404?lib_core$html`<${ui_base$Empty} icon="code" title=${i18n$t("em\
ail.noRaw")}>${i18n$t("email.noRawText")}<//>`:got.error?lib_core$html`<${ui_base$Failed} error=${got.error} />`:got.raw?lib_core$html`<div class="stack"><div class="wide"><${HeaderTable} lines=${linesOf(
got.raw.message)} /></div><div class="wide"><${Source} text=${got.raw.message} bytes=${exactly(got.raw)} name="message/rfc822" file="email.eml" /></div></div>`:
lib_core$html`<${ui_base$Bones} rows=${4} />`}function Attachments({email}){if(!email.attachments.length)return lib_core$html`<${ui_base$Empty} icon="attach" title=${i18n$t(
"email.noAttachments")} />`;let get=file=>ui_float$attempt(async()=>{let{download_url:url}=await api$api.get(paths$encoded`/emails/${email.id}/attachments/${file.
id}`),a=document.createElement("a");a.href=new URL(url).pathname,a.download=file.filename,a.click()});return lib_core$html`<table class="table table--fixed"><thead><tr><th>${i18n$t(
"email.file")}</th><th class="hide-s w-to">${i18n$t("email.kind")}</th><th class="num w-num">${i18n$t("email.size")}</th><th class="num w-num"><span class="vh">${i18n$t(
"email.download")}</span></th></tr></thead><tbody>${email.attachments.map(file=>lib_core$html`<tr key=${file.id}><td class="cell-cut" title=${file.filename}><${ui_base$Icon} name="attach" /><bdi>${file.
filename}</bdi>${file.content_disposition==="inline"?lib_core$html` <span class="badge">${i18n$t("email.inline")}</span>`:""}</td><td class="mono cell-cut hide-s">${file.
content_type}</td><td class="num">${format$size(file.size)}</td><td class="num"><${ui_base$Button} icon="download" kind="quiet" label=${i18n$t("email.downloadFi\
le",{name:file.filename})} onClick=${()=>get(file)} /></td></tr>`)}</tbody></table>`}function Checks({email}){let got=api$useGet(paths$encoded`/emails/${email.id}/insights`);
if(got.error)return lib_core$html`<${ui_base$Failed} error=${got.error} retry=${got.reload} />`;if(!got.data)return lib_core$html`<${ui_base$Bones} rows=${4} />`;
let{score,band,penalties}=got.data,links=found(email.html??""),bytes=new Blob([email.html??email.text??""]).size;return lib_core$html`<${ui_base$Section} title=${i18n$t(
"email.scoreOf")}><p class="stat-value">${format$number(score,{maximumFractionDigits:1})} <small>${i18n$t("email.outOf",{band:i18n$t(`email.bands.${band}`)})}</small></p>
	${penalties.length?lib_core$html`<table class="table table--top"><thead class="vh"><tr><th>${i18n$t("email.points")}</th><th>${i18n$t("email.fix")}</th></tr></thead><tbody>${penalties.
map(p=>lib_core$html`<tr key=${p.id}><td class="nowrap"><${ui_base$Status} of=${p.severity==="minor"?"neutral":p.severity==="major"?"warn":"bad"} word=${i18n$t(
"email.less",{points:format$number(p.points,{maximumFractionDigits:1})})} /></td><td>${p.message}</td></tr>`)}</tbody></table>`:lib_core$html`<p class="muted">${i18n$t(
"email.noPenalties")}</p>`}<//>
	<${ui_base$Section} title=${i18n$t("email.sizeOf")}><p><${ui_base$Status} of=${bytes>102e3?"warn":"good"} word=${format$size(bytes)} /> <span class="muted">${i18n$t(
bytes>102e3?"email.clipped":"email.fits")}</span></p><//>
	<${ui_base$Section} title=${i18n$t("email.links",{n:links.length})}>${links.length?lib_core$html`<ul class="items">${links.map(href=>lib_core$html`<li key=${href}><${ui_base$Icon} name="link" /><span class="grow break mono t12">${href}</span>${/^http:/i.
test(href)?lib_core$html`<${ui_base$Status} of="warn" word=${i18n$t("email.notTls")} />`:""}</li>`)}</ul>`:lib_core$html`<p class="muted">${i18n$t("email.noLink\
s")}</p>`}<//>
	${email.html&&lib_core$html`<${Clients} source=${email.html} />`}`}function Clients({source}){let[Part,set]=lib_core$useState(null);return lib_core$useEffect(()=>{
import("./client-support.js").then(module=>set(()=>module.default))},[]),Part?lib_core$html`<${Part} source=${source} />`:lib_core$html`<${ui_base$Bones} rows=${4} />`}
function found(source){let links=new Set;for(let m of source.matchAll(/<a\b[^>]{0,2000}?\bhref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"']+))/gi)){let href=(m[1]??m[2]??
m[3]).replace(/&amp;/g,"&").trim();if(href&&links.add(href),links.size>=200)break}return[...links]}var outcomes={sent:"good",partly_sent:"warn",deferred:"warn",
refused:"bad",interrupted:"warn",in_doubt:"warn",relay_trouble:"bad"};function Conversation({id,live}){let got=api$useGet(paths$encoded`/emails/${id}/attempts`,
{limit:100},{live});if(got.error)return lib_core$html`<${ui_base$Failed} error=${got.error} retry=${got.reload} />`;if(!got.data)return lib_core$html`<${ui_base$Bones} rows=${4} />`;
let all=got.data.data;return all.length?lib_core$html`${all.map((a,i)=>lib_core$html`<${Attempt} key=${a.id} of=${a} n=${all.length-i} />`)}${got.data.has_more?
lib_core$html`<p class="t12 muted">${i18n$t("email.moreAttempts")}</p>`:""}`:lib_core$html`<${ui_base$Empty} icon="relay" title=${i18n$t("email.noAttempts")}>${i18n$t(
"email.noAttemptsText")}<//>`}function Attempt({of:a,n}){return lib_core$html`<${ui_base$Section} title=${i18n$t("email.attempt",{n})} acts=${lib_core$html`<span class="muted t13r"><time datetime=${a.
created_at} title=${format$exact(a.created_at)}>${format$clock(a.created_at)}</time> · <span class="mono">${a.relay}</span> · ${a.tls??i18n$t("email.noTls")} · ${i18n$t(
"email.ms",{ms:a.duration_ms})}</span>`}>
	<div class="stack stack--2"><p><${ui_base$Status} of=${outcomes[a.outcome]} word=${i18n$t(`email.outcomes.${a.outcome}`)} /></p>
	${a.conversation?lib_core$html`<ol class="smtp wide">${email_parts$dialogueOf(a.conversation).map(line=>lib_core$html`<li class=${line.kind}><span class="who" aria-hidden="true">${{
"<":"←",">":"→"}[line.who]??""}</span><span>${line.who!=="*"&&lib_core$html`<span class="vh">${i18n$t(line.who==="<"?"email.server":"email.client")} </span>`}${line.
text}</span><span class="ms"></span></li>`)}</ol>
	<p class="row t12 muted"><${ui_base$CopyButton} text=${a.conversation} />${i18n$t("email.kept")}</p>`:lib_core$html`<ol class="smtp wide"><li><span class="who" aria-hidden="true">←</span><span><span class="vh">${i18n$t(
"email.server")} </span>${a.reply||"–"}</span><span class="ms">${i18n$t("email.ms",{ms:a.duration_ms})}</span></li></ol>`}</div><//>`}var worded=text=>text.replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g,at=>format$clock(at)),isTime=/^\d{4}-\d\d-\d\dT/;function shown(value){return typeof value==
"number"?value.toLocaleString(i18n$language.value):isTime.test(String(value))?format$clock(String(value)):String(value)}function fill(text,values){return(part=>part.
replace(/\{(\w+)\}/g,(_,name)=>values[name]?shown(values[name]):""))(text.replace(/\[([^[\]]*)\]/g,(_,part)=>[...part.matchAll(/\{(\w+)\}/g)].every(([,name])=>values[name])?
part:""))}function partOf(part){let said=i18n$find(`verdicts.${part.code}`);return said?{line:fill(part.params.count>1&&said.many?said.many:said.text,part.params),
fix:fill(said.fix??"",part.params)}:{line:worded(part.text),fix:worded(part.fix)}}function sentenceOf(v){let whole=partOf(v);if(!v.parts?.length)return whole;let parts=v.
parts.map(p=>({...partOf(p),told:p.fix!==""&&v.fix.includes(p.fix)})),fixes=new Set(parts.filter(p=>p.told).map(p=>p.fix));return{line:[whole.line,...parts.map(
p=>p.line)].join(" "),fix:[...fixes].join(" ")}}var When=({at})=>lib_core$html`<time datetime=${at} title=${format$exact(at)}>${format$stamp(at)}</time>`;function useSender(email){let ofKey=["api","smtp","mcp"].
includes(email?.source)&&email.key_id,keys=api$useGet(ofKey?"/api-keys":null,{limit:100});if(!email||email.broadcast_id)return null;let key=ofKey&&(keys.data?.data??
[]).find(k=>k.id===email.key_id);return key?i18n$say("email.byKey",{key:lib_core$html`<a class="link" href=${`${router$base}/emails?key=${encodeURIComponent(key.
name)}`}><bdi>${key.name}</bdi></a>`}):email.source&&email.source!=="account"?i18n$t(`emails.sources.${email.source}`):null}function under(email,sender){let first=format$mailbox(
email.to[0]??""),rest=email.to.length+email.cc.length+email.bcc.length-1,parts=[i18n$say("email.toWhom",{to:lib_core$html`<bdi title=${[...email.to,...email.cc,
...email.bcc].join(", ")}>${first.address}</bdi>`}),rest>0&&i18n$t("emails.others",{n:rest})];return lib_core$html`<span>${parts[0]}${parts[1]?lib_core$html` ${parts[1]}`:
""}</span><span><${When} at=${email.created_at} /></span>${sender&&lib_core$html`<span>${sender}</span>`}`}function Recipients({people}){return lib_core$html`<section class="wide" aria-label=${i18n$t(
"email.recipients")}><table class="table table--fixed"><colgroup><col class="w-status" /><col class="w-rec" /><col class="hide-s" /></colgroup><thead class="vh"><tr><th>${i18n$t(
"email.state")}</th><th>${i18n$t("email.recipient")}</th><th>${i18n$t("email.words")}</th></tr></thead><tbody>${people.map(p=>{let[code,reply]=email_parts$replyOf(
p.event?.detail??{});return lib_core$html`<tr key=${p.address}><td class="w-status"><${ui_base$Status} of=${p.state} /></td><td class="cell-cut w-rec" title=${p.
address}>${p.name&&lib_core$html`<bdi>${p.name}</bdi> `}<bdi>${p.address}</bdi><span class="cell-sub">${[code,reply].filter(Boolean).join(" ")}</span></td><td class="cell-cut muted hide-s" title=${reply}>${code&&
lib_core$html`<span class="mono">${code}</span> `}${reply}${p.event?.type==="suppressed"&&lib_core$html`<${ui_base$Button} kind="quiet" onClick=${()=>lift(p.address)}>${i18n$t(
"email.liftShort")}<//>`}</td></tr>`})}</tbody></table></section>`}function folded(events){let lines=[];for(let e of events){let last=lines[lines.length-1];last&&
e.type==="deferred"&&last.type===e.type&&last.recipient===e.recipient&&last.detail.reply===e.detail.reply&&last.detail.reply_code===e.detail.reply_code&&lines.length>
1?(last.times=(last.times??1)+1,last.first=e.created_at):lines.push({...e})}return lines}function Timeline({events,next,email}){let all=email.to.length+email.cc.
length+email.bcc.length,rows=folded(events.data?.data??[]);return events.error&&!rows.length?lib_core$html`<${ui_base$Failed} error=${events.error} retry=${events.
reload} />`:lib_core$html`<ol class="timeline">${next&&lib_core$html`<li class="is-next"><${ui_base$Icon} name="st-scheduled" /><div><b class="medium">${i18n$t(
email.state==="scheduled"?"status.scheduled":"email.next")}</b> <${ui_base$Time} at=${next} as="both" /></div></li>`}
	${rows.map((e,i)=>{let before=rows[i+1],type=e.type==="sent"&&e.detail.relay==="capture"?"captured":e.type,[kind,icon]=email_parts$lookOf(type),[code,reply]=email_parts$replyOf(
e.detail),words=[code,reply].filter(Boolean).join(" ")||(["queued","sent","delivered"].includes(e.type)?"":e.detail.link??worded(e.detail.message??"")),who=e.recipient&&
all>1?e.recipient:"",took=e.type==="sent"&&e.detail.duration_ms?i18n$t("email.took",{ms:e.detail.duration_ms}):"",what=words&&took?i18n$t("time.joined",{one:words,
two:took}):words||took,event=i18n$t(`email.events.${type}`);return lib_core$html`<li key=${e.id} class=${kind&&`is-${kind}`}><${ui_base$Icon} name=${`st-${icon}`} /><div><b class="medium">${e.
times?i18n$t("email.times",{event,n:e.times}):e.type==="deferred"&&e.detail.attempt?i18n$t("email.try",{event,n:e.detail.attempt}):event}</b> ${e.first?lib_core$html`<${When} at=${e.
first} /> – `:""}<${When} at=${e.created_at} />${before&&lib_core$html` <span class="muted nowrap">+${format$gap(before.created_at,e.first??e.created_at)}</span>`}
			${(who||what)&&lib_core$html`<p>${who&&what?i18n$say("time.by",{who:lib_core$html`<bdi>${who}</bdi>`,what}):what||lib_core$html`<bdi>${who}</bdi>`}</p>`}</div></li>`})}</ol>${events.
data?.has_more?lib_core$html`<p class="t12 muted">${i18n$t("email.older")}</p>`:""}`}function Aside({email,events,people,sender}){let from=format$mailbox(email.
from),relay=events.data?.data.find(e=>e.detail.relay)?.detail.relay,next=people.map(p=>p.next).filter(Boolean).sort()[0]??(email.state==="scheduled"?email.scheduled_at:
void 0);return lib_core$html`<aside class="aside" aria-label=${i18n$t("email.details")}><section class="section"><h2 class="vh">${i18n$t("email.facts")}</h2><${ui_base$Facts} class="kv--side" pairs=${[
[i18n$t("email.from"),lib_core$html`${from.name&&lib_core$html`<bdi>${from.name}</bdi><br />`}${from.address.split("@").map((part,i)=>i?lib_core$html`<wbr />@${part}`:
part)}`],[i18n$t("email.replyTo"),email.reply_to.join(", ")],[i18n$t("email.to"),email.to.length+email.cc.length+email.bcc.length>1?i18n$t("email.recipientsN",{
n:email.to.length+email.cc.length+email.bcc.length}):format$mailbox(email.to[0]??"").address.split("@").map((part,i)=>i?lib_core$html`<wbr />@${part}`:part)],[i18n$t(
Array.isArray(sender)?"email.sentBy":"email.source"),sender],[i18n$t("email.relay"),relay&&lib_core$html`<span class="mono">${relay}</span>`],[i18n$t("email.siz\
e"),email.size?[format$size(email.size),email.attachments.length>0&&i18n$t("email.attachmentsN",{n:email.attachments.length})].filter(Boolean).reduce((one,two)=>i18n$t(
"time.joined",{one,two})):""],[i18n$t("email.score"),email.score===null||email.score===void 0?"":String(email.score)],[i18n$t("email.tags"),email.tags.length?lib_core$html`<span class="row row--wrap">${email.
tags.map(g=>lib_core$html`<a class="tag" href=${`${router$base}/emails?tag=${encodeURIComponent(`${g.name}:${g.value}`)}`}>${g.name}=${g.value}</a>`)}</span>`:""],
[i18n$t("email.broadcast"),email.broadcast_id&&lib_core$html`<a class="link" href=${router$base+paths$encoded`/broadcasts/${email.broadcast_id}/report`}>${i18n$t(
"email.report")}</a>`],[i18n$t("email.request"),!email.broadcast_id&&lib_core$html`<a class="link" href=${router$base+paths$encoded`/requests?email_id=${email.id}`}>${i18n$t(
"email.toRequest")}</a>`],[i18n$t("email.id"),lib_core$html`<${ui_base$Id} of=${email.id} />`]]} /></section>
	<section class="section"><div class="section-head"><h2>${i18n$t("email.timeline")}</h2><${emails$Live} /></div><${Timeline} events=${events} next=${next} email=${email} /></section></aside>`}
function Email({params}){let id=params.id,live=e=>e.name==="email"&&e.id===id,got=api$useGet(paths$encoded`/emails/${id}`,{},{live}),events=api$useGet(paths$encoded`/emails/${id}/events`,
{limit:100},{live}),sender=useSender(got.data),path=[[i18n$t("emails.title"),`${router$base}/emails`]];if(got.error&&!got.data)return lib_core$html`<${ui_base$Head} title=${i18n$t(
"email.title")} path=${path} /><${ui_base$Failed} error=${got.error} retry=${got.reload} />`;if(!got.data)return lib_core$html`<${ui_base$Head} title=${i18n$t("\
email.title")} path=${path} /><${ui_base$Bones} />`;let email=got.data,people=email_parts$recipientsOf(email,events.data?.data??[]),says=sentenceOf(email.verdict),
at=router$place.value.query.get("tab")??"preview",reload=()=>Promise.all([got.reload(),events.reload()]);return lib_core$html`<${ui_base$Head} text=${email.subject||
i18n$t("emails.noSubject")} title=${lib_core$html`<bdi>${email.subject||i18n$t("emails.noSubject")}</bdi>`} path=${path} under=${under(email,sender)}><${Acts} email=${email} people=${people} reload=${reload} /><//>
	<${ui_base$Verdict} icon=${`st-${email_parts$lookOf(email.state)[1]}`} kind=${email.verdict.tone} line=${says.line} fix=${says.fix} />
	<${ui_base$Tabs} label=${i18n$t("email.title")} tabs=${tabs(email)} at=${at} onChange=${to=>router$setQuery({tab:to==="preview"?null:to})} />
	<div class="with-aside"><div class="stack stack--6"><${Recipients} people=${people} /><div class="wide" role="tabpanel" tabindex="-1"><${Tab} at=${at} email=${email} live=${live} people=${people} /></div></div><${Aside} email=${email} events=${events} people=${people} sender=${sender} /></div>`}export{Email as default};
