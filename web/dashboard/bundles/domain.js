import{lib_core$Fragment,lib_core$batch,lib_core$cloneElement,lib_core$computed,lib_core$createContext,lib_core$effect,lib_core$h,lib_core$html,lib_core$render,
lib_core$signal,lib_core$untracked,lib_core$useCallback,lib_core$useComputed,lib_core$useContext,lib_core$useEffect,lib_core$useId,lib_core$useLayoutEffect,lib_core$useMemo,
lib_core$useReducer,lib_core$useRef,lib_core$useSignal,lib_core$useSignalEffect,lib_core$useState}from"./app.js";import{api$ApiError,api$address,api$api,api$forget,api$proof,api$request,api$silent,api$useGet,api$useList}from"./app.js";import{i18n$find,i18n$language,i18n$languages,i18n$preferred,i18n$say,i18n$speak,i18n$t}from"./app.js";import{router$base,router$go,router$href,router$match,router$place,router$setQuery,router$start}from"./app.js";import{state$choose,state$mayAdmin,state$me,state$membership,state$signedIn,state$signedOut,state$stillSignedIn,state$team}from"./app.js";import{ui_base$Bones,ui_base$Button,ui_base$Check,ui_base$Code,ui_base$Copy,ui_base$CopyButton,ui_base$Empty,ui_base$Facts,ui_base$Failed,ui_base$Field,ui_base$Head,
ui_base$Icon,ui_base$Id,ui_base$Input,ui_base$Notice,ui_base$Section,ui_base$Sections,ui_base$Seg,ui_base$Select,ui_base$Status,ui_base$Tabs,ui_base$Time,ui_base$Verdict,
ui_base$copy,ui_base$dialogs,ui_base$useEscape}from"./app.js";import{ui_float$DialogBody,ui_float$Dialogs,ui_float$Menu,ui_float$Toasts,ui_float$attempt,ui_float$confirm,ui_float$dialog,ui_float$toast,ui_float$useAsked}from"./app.js";import{paths$domainIn,paths$encoded,paths$fileAt,paths$idOf,paths$isId,paths$isPath,paths$ownDomain}from"./app.js";import{counts$counts,counts$leaving,counts$readRelays,counts$relays,counts$watch}from"./app.js";import{format$ago,format$clock,format$day,format$duration,format$exact,format$gap,format$mailbox,format$number,format$percent,format$relative,format$seconds,format$short,
format$size,format$stamp}from"./app.js";var second=new Set(["co","com","org","net","ac","gov","edu"]);function zoneOf(name){let labels=name.split("."),short2=labels.length>2&&labels[labels.length-1].length===
2&&second.has(labels[labels.length-2]);return labels.slice(short2?-3:-2).join(".")}var within=(host,zone)=>host===zone?"@":host.endsWith(`.${zone}`)?host.slice(
0,-zone.length-1):host,quoted=text=>(text.match(/.{1,255}/g)??[""]).map(part=>`"${part.replace(/(["\\])/g,"\\$1")}"`).join(" "),zoneFile=records=>records.map(r=>`${r.
name}. 3600 IN ${r.type} ${r.type==="TXT"?quoted(r.value):`${r.type==="MX"?`${r.priority??10} `:""}${r.value}.`}`).join(`
`),stands=r=>r.live==="found"||r.live==="unknown"&&r.status==="verified",broken=host=>host.split(".").map((part,i)=>lib_core$html`${i>0&&lib_core$html`.<wbr />`}${part}`),
short=value=>value.length>96?`${value.slice(0,64)}…${value.slice(-9)}`:value;function stateOf(r){return r.live==="found"?["verified",i18n$t("domain.found")]:r.
live==="mismatch"?["wrong",i18n$t("status.wrong")]:r.live==="missing"?[r.required?"missing":"pending",i18n$t("status.missing")]:stands(r)?["verified",i18n$t("do\
main.before")]:["not_started",i18n$t("domain.unknown")]}function Found({of:r,said}){return r.live==="found"?lib_core$html`<span class="muted">${r.inherited_from?
i18n$t("domain.inherited",{name:r.inherited_from}):r.policy?i18n$t("domain.policy",{policy:r.policy}):i18n$t("domain.same")}</span>${r.detail&&lib_core$html`<p class="t12">${r.
detail}</p>`}`:lib_core$html`<span class="muted">${i18n$t(r.live==="missing"?"domain.nothing":r.live==="mismatch"?"domain.other":"domain.unasked")}</span>${r.detail?
r.detail!==said&&r.live!=="unknown"&&lib_core$html`<p class="t12 break">${r.detail}</p>`:r.live==="missing"&&lib_core$html`<p class="t12">${i18n$t(`domain.witho\
ut.${r.dkim_key==="next"||r.dkim_key==="retired"?r.dkim_key:r.type==="MX"?"MX":r.record}`)}</p>`}`}function Records({of:d,said}){let[hosts,setHosts]=lib_core$useState(
"whole"),[file,showFile]=lib_core$useState(!1),zone=zoneOf(d.name),acts=lib_core$html`<div class="row row--wrap"><span class="muted t12 hide-s">${i18n$t("domain\
.hosts")}</span><${ui_base$Seg} label=${i18n$t("domain.hosts")} value=${hosts} onChange=${setHosts} options=${[["whole",i18n$t("domain.whole")],["within",i18n$t(
"domain.within",{zone})]]} /><${ui_base$Button} icon="code" aria-expanded=${String(file)} onClick=${()=>showFile(!file)}>${i18n$t("domain.zone")}<//></div>`;return lib_core$html`<${ui_base$Section} title=${i18n$t(
"domain.records")} acts=${acts}>
	${file&&lib_core$html`<div class="stack"><${ui_base$Code} name=${i18n$t("domain.zoneFor",{zone})} code=${zoneFile(d.records)} /></div>`}
	<table class="table table--top table--records table--fixed stack-s"><thead><tr><th class="w-state" scope="col">${i18n$t("domain.state")}</th><th class="w-rectype" scope="col">${i18n$t(
"domain.record")}</th><th scope="col">${i18n$t("domain.host")}</th><th scope="col">${i18n$t("domain.expected")}</th><th scope="col">${i18n$t("domain.foundNow")}</th></tr></thead><tbody>${d.
records.map(r=>{let[kind,word]=stateOf(r),host=hosts==="whole"?r.name:within(r.name,zone);return lib_core$html`<tr key=${`${r.type} ${r.name}`}><td data-label=${i18n$t(
"domain.state")}><${ui_base$Status} of=${kind} word=${word} /></td>
		<td data-label=${i18n$t("domain.record")}><span class="medium">${r.record==="SPF"&&r.type==="MX"?"MX":`${r.record==="Tracking"?i18n$t("domains.tracking"):r.record}\
, ${r.type}`}</span><br /><span class="muted t12">${i18n$t(r.dkim_key==="next"||r.dkim_key==="retired"?`domain.keys.${r.dkim_key}`:r.required?"domain.needed":r.
record==="Tracking"?"domain.optional":"domain.recommended")}</span></td>
		<td data-label=${i18n$t("domain.host")}><${ui_base$Copy} text=${host} show=${broken(host)} shown /></td>
		<td data-label=${i18n$t("domain.expected")}>${r.type==="MX"&&lib_core$html`<span class="muted t12">${i18n$t("domain.priority")} </span><${ui_base$Copy} text=${String(
r.priority??10)} shown /><br />`}<${ui_base$Copy} text=${r.value} show=${r.type==="TXT"?short(r.value):broken(r.value)} shown /></td>
		<td data-label=${i18n$t("domain.foundShort")}><${Found} of=${r} said=${said} /></td></tr>`})}</tbody></table>
	${d.records.some(r=>r.record==="SPF"&&r.type==="TXT"&&r.value==="v=spf1 ~all")&&lib_core$html`<div class="domain-note"><${ui_base$Notice}>${i18n$t(counts$relays.
value?.length?"domain.spfUnknown":"domain.spfEmpty")}<//></div>`}<//>`}function readiness(d){let find=(record,type)=>d.records.find(r=>r.record===record&&r.type===
type),row=(id,record,lost)=>record&&{id,points:stands(record)?0:lost,kind:stands(record)?"good":record.required&&record.live!=="unknown"?"bad":"warn"},tracked=d.
open_tracking||d.click_tracking,host=d.records.find(r=>r.record==="Tracking");return[row("dkim",find("DKIM","TXT"),4),row("spf",find("SPF","TXT"),3),row("mx",find(
"SPF","MX"),1),row("dmarc",find("DMARC","TXT"),1.5),tracked&&(host?row("tracking",host,.5):{id:"foreign",points:.5,kind:"warn"})].filter(Boolean).sort((a,b)=>b.
points-a.points)}function Readiness({of:d}){if(d.records.every(r=>r.live==="unknown"))return null;let rows=readiness(d),score=10-rows.reduce((sum,r)=>sum+r.points,
0),word=i18n$t(`domain.score.${score>=9.5?"ready":score>=7?"close":score>=4?"attention":"far"}`),show=n=>format$number(n,{minimumFractionDigits:1,maximumFractionDigits:1});
return lib_core$html`<${ui_base$Section} title=${i18n$t("domain.readiness")} acts=${lib_core$html`<span class="t13r"><span class="medium">${i18n$t("domain.of10",
{score:show(score)})}</span> <span class="muted">${word}</span></span>`}>
	<ul class="items">${rows.map(r=>lib_core$html`<li><${ui_base$Icon} name=${r.kind==="good"?"check":"alert"} class=${r.kind} /><span class="grow">${i18n$t(`domai\
n.ready_${r.id}.${r.points?"lacks":"is"}`)}${r.points?lib_core$html` <span class="muted">· ${i18n$t(`domain.ready_${r.id}.fix`)}</span>`:null}</span><span class=${`\
num ${r.points?"":"muted"}`}>${r.points?`−${show(r.points)}`:""}</span></li>`)}</ul><//>`}var names={cloudflare:"Cloudflare",hetzner:"Hetzner",rfc2136:"RFC 2136"},shown=(value,priority)=>priority?`${priority} ${value}`:short(value);function Changes({
of:plan}){let line=(sign,c,value)=>lib_core$html`<li class=${sign==="+"?"is-add":"is-del"}><span class="n">${c.type}</span><span>${sign==="+"?"+":"−"}</span><span><span class="medium">${c.
name}</span> ${value}</span></li>`;return lib_core$html`<ul class="diff" aria-label=${i18n$t("domain.publish.changes")}>${plan.changes.map(c=>lib_core$html`${c.
before&&line("-",c,shown(c.before,c.before_priority))}${c.after&&line("+",c,shown(c.after,c.priority))}`)}</ul>`}function PublishRecords({close,of:d}){let[provider,
setProvider]=lib_core$useState(d.dns?"":"cloudflare"),[token,setToken]=lib_core$useState(""),[reports,setReports]=lib_core$useState(""),[remember,setRemember]=lib_core$useState(
!1),[plan,setPlan]=lib_core$useState(null),[wrong,say]=lib_core$useState(""),[busy,setBusy]=lib_core$useState(!1),ask=async id=>{if(busy)return;setBusy(!0),say(
"");let body={...provider&&{provider,token:token.trim(),remember},...reports.trim()&&{dmarc_reports:reports.trim()},...id&&{plan:id}};try{let got=await api$api.
post(paths$encoded`/domains/${d.id}/publish`,body);id?(ui_float$toast(i18n$t("domain.publish.done",{n:got.changes.length})),close(!0)):setPlan(got)}catch(e){if(!(e instanceof
api$ApiError))throw e;say(e.message),setPlan(null)}finally{setBusy(!1)}},title=i18n$t("domain.publish.title",{name:d.name}),refusal=wrong&&lib_core$html`<${ui_base$Notice} kind="bad">${wrong}<//>`;
if(plan){let useful=plan.changes.length>0||remember;return lib_core$html`<${ui_float$DialogBody} title=${title} onSubmit=${()=>useful&&ask(plan.plan)} acts=${lib_core$html`<${ui_base$Button} kind="quiet" onClick=${()=>setPlan(
null)}>${i18n$t("domain.publish.back")}<//>${useful?lib_core$html`<${ui_base$Button} type="submit" kind="primary" busy=${busy}>${i18n$t("domain.publish.apply")}<//>`:
lib_core$html`<${ui_base$Button} kind="primary" onClick=${()=>close()}>${i18n$t("ui.close")}<//>`}`}>
		${plan.changes.length?lib_core$html`<${Changes} of=${plan} />`:lib_core$html`<p>${i18n$t("domain.publish.nothing")}</p>`}
		${plan.conflicts.map(c=>lib_core$html`<p class="row"><${ui_base$Icon} name="alert" class="warn" /><span class="break">${i18n$t("domain.publish.conflict",{reason:c.
reason})}</span></p>`)}<//>`}let options=[...d.dns?[["",i18n$t("domain.publish.remembered",{provider:names[d.dns.provider]})]]:[],["cloudflare",names.cloudflare],
["hetzner",names.hetzner]];return lib_core$html`<${ui_float$DialogBody} title=${title} onSubmit=${()=>ask("")} acts=${lib_core$html`<${ui_base$Button} kind="quiet" onClick=${()=>close()}>${i18n$t(
"ui.cancel")}<//><${ui_base$Button} type="submit" kind="primary" busy=${busy}>${i18n$t("domain.publish.show")}<//>`}>
		<p>${i18n$t("domain.publish.text")}</p>
		${refusal}
		<${ui_base$Select} label=${i18n$t("domain.publish.provider")} value=${provider} onChange=${setProvider} options=${options} />
		${provider&&lib_core$html`<${ui_base$Input} label=${i18n$t("domain.publish.token")} hint=${i18n$t(`domain.publish.${provider}`)} type="password" autocomplete="off" value=${token} onInput=${setToken} required mono />
		<${ui_base$Check} label=${i18n$t("domain.publish.remember")} checked=${remember} onChange=${setRemember} />`}
		<${ui_base$Input} label=${i18n$t("domain.publish.reports")} hint=${i18n$t("domain.publish.reportsHint")} type="email" value=${reports} onInput=${setReports} /><//>`}
function RememberedToken({of:d,changed}){if(!d.dns)return null;let forget=()=>ui_float$attempt(async()=>{await api$api.del(paths$encoded`/domains/${d.id}/publish/token`),
changed({...d,dns:null})},i18n$t("domain.publish.forgotten"));return lib_core$html`<div class="domain-note"><${ui_base$Notice} icon="lock" act=${state$mayAdmin.
value&&lib_core$html`<${ui_base$Button} onClick=${forget}>${i18n$t("domain.publish.forget")}<//>`}>${i18n$t("domain.publish.kept",{provider:names[d.dns.provider]})}<//></div>`}function Tracking({of:d,changed}){let[name,setName]=lib_core$useState(d.tracking_subdomain??""),[wrong,say]=lib_core$useState(""),patch=async body=>changed(await api$api.
patch(paths$encoded`/domains/${d.id}`,body)),turn=(field,on)=>ui_float$attempt(async()=>{await patch({[field]:on}),ui_float$toast(i18n$t(`domain.${field}_${on?"\
on":"off"}`),{undo:()=>ui_float$attempt(()=>patch({[field]:!on}))})}),save=async()=>{try{await patch({tracking_subdomain:name.trim()||null}),say(""),ui_float$toast(
i18n$t(name.trim()?"domain.trackingSaved":"domain.trackingCleared"))}catch(e){if(!(e instanceof api$ApiError))throw e;say(e.message)}},fixed=!state$mayAdmin.value;
return lib_core$html`<${ui_base$Section} title=${i18n$t("domain.measure")}><div class="stack stack--2">
		<${ui_base$Check} kind="switch" label=${i18n$t("domain.openTracking")} checked=${d.open_tracking} disabled=${fixed} onChange=${on=>turn("open_tracking",on)} /><p class="t13r ink2 prose">${i18n$t(
"domain.openText")}</p>
		<${ui_base$Check} kind="switch" label=${i18n$t("domain.clickTracking")} checked=${d.click_tracking} disabled=${fixed} onChange=${on=>turn("click_tracking",on)} /><p class="t13r ink2 prose">${i18n$t(
"domain.clickText")}</p>
		${fixed&&lib_core$html`<p class="t12 muted">${i18n$t("domain.askAdmin")}</p>`}</div><//>
	<${ui_base$Section} title=${i18n$t("domain.subdomain")}><form class="stack" onSubmit=${e=>{e.preventDefault(),save()}}><${ui_base$Input} label=${i18n$t("domain\
.subdomainLabel",{name:d.name})} hint=${name.trim()?i18n$t("domain.subdomainAs",{host:`${name.trim()}.${d.name}`}):i18n$t("domain.subdomainNone",{host:location.
host})} value=${name} onInput=${setName} error=${wrong} placeholder="links" disabled=${fixed} autocomplete="off" spellcheck="false" />
		${!fixed&&lib_core$html`<${ui_base$Button} type="submit" disabled=${name.trim()===(d.tracking_subdomain??"")}>${i18n$t("ui.save")}<//>`}</form><//>`}var watched=6e4,pace=2500;function verdict(d){let records=d.records.filter(r=>r.record!=="Tracking"),wrong=records.find(r=>r.required&&(r.live==="mismatch"||r.live===
"missing")),soft=records.filter(r=>!r.required&&(r.live==="mismatch"||r.live==="missing"));if(d.paused?.length)return{kind:"bad",line:i18n$t("domain.refused",{name:d.
name}),fix:d.paused.map(p=>p.reason).join(" ")};let next=records.find(r=>r.dkim_key==="next");if(d.status==="verified")return wrong?{kind:"warn",line:i18n$t("do\
main.lost",{record:wrong.record}),fix:wrong.detail??i18n$t("domain.lostFix",{name:wrong.name})}:next?{kind:"neutral",line:i18n$t("domain.nextKey"),fix:next.live===
"mismatch"&&next.detail?next.detail:i18n$t("domain.nextKeyFix",{name:next.name})}:{kind:"good",line:i18n$t("domain.ready",{name:d.name}),fix:soft.length?i18n$t(
"domain.readySoft",{n:soft.length,records:soft.map(r=>r.record).join(", ")}):null};let silent=records.find(r=>r.required&&r.live==="unknown"&&r.detail&&d.status!==
"not_started");return!wrong&&silent?{kind:"neutral",line:i18n$t("domain.noAnswer"),fix:silent.detail}:wrong?{kind:wrong.live==="mismatch"?"bad":"warn",line:i18n$t(
wrong.live==="mismatch"?"domain.wrong":"domain.missing",{record:wrong.record}),fix:wrong.detail??i18n$t("domain.missingFix",{name:wrong.name})}:d.status==="pend\
ing"?{kind:"neutral",line:i18n$t("domain.pending"),fix:i18n$t("domain.pendingFix")}:{kind:"neutral",line:i18n$t("domain.notStarted"),fix:i18n$t("domain.notStart\
edFix")}}async function remove(d){await ui_float$attempt(async()=>{let{data,has_more:more}=await api$api.get("/api-keys",{limit:100}),bound=data.filter(k=>k.domain_id===
d.id),text=bound.length?i18n$t("domain.deleteKeys",{n:bound.length,names:bound.map(k=>k.name).join(", ")}):i18n$t(more?"domain.deleteText":"domain.deleteAlone");
await ui_float$confirm({title:i18n$t("domain.deleteTitle",{name:d.name}),text,act:i18n$t("domain.deleteAct")})&&(await api$api.del(paths$encoded`/domains/${d.id}`),
ui_float$toast(i18n$t("domain.deleted",{name:d.name})),router$go("/domains"))})}function Domain({params}){let got=api$useGet(paths$encoded`/domains/${params.id}`),
[watching,watch]=lib_core$useState(!1),[asked,setAsked]=lib_core$useState(""),d=got.data,reload=lib_core$useRef(got.reload);if(reload.current=got.reload,lib_core$useEffect(
()=>{if(!watching)return;let every=setInterval(()=>document.hidden||reload.current(),pace),end=setTimeout(()=>watch(!1),watched);return()=>{clearInterval(every),
clearTimeout(end)}},[watching]),lib_core$useEffect(()=>{if(!d||d.status==="verified")return;let every=setInterval(()=>document.hidden||reload.current(),15e3);return()=>clearInterval(
every)},[d?.status]),got.error&&!d)return lib_core$html`<${ui_base$Head} path=${[[i18n$t("domains.title"),`${router$base}/domains`]]} title=${i18n$t("domain.one")} /><${ui_base$Failed} error=${got.
error} retry=${got.reload} />`;if(!d)return lib_core$html`<${ui_base$Head} path=${[[i18n$t("domains.title"),`${router$base}/domains`]]} title="…" text=${i18n$t(
"domains.title")} /><${ui_base$Bones} />`;let check=()=>ui_float$attempt(async()=>{await api$api.post(paths$encoded`/domains/${d.id}/verify`),setAsked(new Date().
toISOString()),watch(!0),await got.reload()}),rotate=()=>ui_float$attempt(async()=>{got.set(await api$api.post(paths$encoded`/domains/${d.id}/dkim/rotate`)),router$setQuery(
{tab:null}),watch(!0)},i18n$t("domain.rotated")),publish=async()=>{await ui_float$dialog(close=>lib_core$html`<${PublishRecords} close=${close} of=${d} />`)&&(setAsked(
new Date().toISOString()),watch(!0),await got.reload())},at=router$place.value.query.get("tab")??"records",says=verdict(d);return lib_core$html`<${ui_base$Head} path=${[
[i18n$t("domains.title"),`${router$base}/domains`]]} title=${d.name} note=${watching&&lib_core$html`<span class="live">${i18n$t("domain.watching")}</span>`}>
		${state$mayAdmin.value&&lib_core$html`<${ui_base$Button} icon="globe" onClick=${publish}>${i18n$t("domain.publish.act")}<//><${ui_base$Button} icon="refresh" onClick=${check}>${i18n$t(
"domain.check")}<//><${ui_float$Menu} label=${i18n$t("ui.acts")} items=${[!d.records.some(r=>r.dkim_key==="next")&&{icon:"refresh",name:i18n$t("domain.rotate"),
run:rotate},{icon:"trash",name:i18n$t("domain.delete"),danger:!0,run:()=>remove(d)}]} />`}<//>
	<${ui_base$Verdict} kind=${says.kind} line=${says.line} fix=${lib_core$html`${says.fix} ${asked&&lib_core$html`<span class="muted">${i18n$say("domain.asked",{time:lib_core$html`<${ui_base$Time} at=${asked} as="ago" />`})}</span>`}`} />
	<${ui_base$Tabs} label=${i18n$t("domain.one")} at=${at} onChange=${tab=>router$setQuery({tab:tab==="records"?null:tab})} tabs=${[["records",i18n$t("domain.reco\
rds")],["tracking",i18n$t("domains.tracking")]]} />
	<div class="page">${at==="tracking"?lib_core$html`<${Tracking} of=${d} changed=${got.set} />`:lib_core$html`<${Records} of=${d} said=${says.fix} /><${RememberedToken} of=${d} changed=${got.
set} /><${Readiness} of=${d} />`}</div>`}export{Domain as default,verdict};
