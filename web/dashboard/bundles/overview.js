import{lib_core$Fragment,lib_core$batch,lib_core$cloneElement,lib_core$computed,lib_core$createContext,lib_core$effect,lib_core$h,lib_core$html,lib_core$render,
lib_core$signal,lib_core$untracked,lib_core$useCallback,lib_core$useComputed,lib_core$useContext,lib_core$useEffect,lib_core$useId,lib_core$useLayoutEffect,lib_core$useMemo,
lib_core$useReducer,lib_core$useRef,lib_core$useSignal,lib_core$useSignalEffect,lib_core$useState}from"./app.js";import{api$ApiError,api$address,api$api,api$forget,api$proof,api$request,api$silent,api$useGet,api$useList}from"./app.js";import{counts$counts,counts$leaving,counts$readRelays,counts$relays,counts$watch}from"./app.js";import{format$ago,format$clock,format$day,format$duration,format$exact,format$gap,format$mailbox,format$number,format$percent,format$relative,format$seconds,format$short,
format$size,format$stamp}from"./app.js";import{i18n$find,i18n$language,i18n$languages,i18n$preferred,i18n$say,i18n$speak,i18n$t}from"./app.js";import{router$base,router$go,router$href,router$match,router$place,router$setQuery,router$start}from"./app.js";import{state$choose,state$mayAdmin,state$me,state$membership,state$signedIn,state$signedOut,state$stillSignedIn,state$team}from"./app.js";import{emails$Live,emails$default}from"./app.js";import{email_parts$curlOf,email_parts$dialogueOf,email_parts$lookOf,email_parts$recipientsOf,email_parts$replyOf}from"./app.js";import{paths$domainIn,paths$encoded,paths$fileAt,paths$idOf,paths$isId,paths$isPath,paths$ownDomain}from"./app.js";import{ui_base$Bones,ui_base$Button,ui_base$Check,ui_base$Code,ui_base$Copy,ui_base$CopyButton,ui_base$Empty,ui_base$Facts,ui_base$Failed,ui_base$Field,ui_base$Head,
ui_base$Icon,ui_base$Id,ui_base$Input,ui_base$Notice,ui_base$Section,ui_base$Sections,ui_base$Seg,ui_base$Select,ui_base$Status,ui_base$Tabs,ui_base$Time,ui_base$Verdict,
ui_base$copy,ui_base$dialogs,ui_base$useEscape}from"./app.js";var statuses=["bounced","failed","complained"],useFailures=()=>api$useGet("/emails",{status:statuses.join(),include:"reason",limit:5},{live:e=>e.name==="email"&&
statuses.includes(e.data?.event)});function Failures({got}){let rows=got.data?.data??[];return lib_core$html`<${ui_base$Section} title=${i18n$t("overview.failur\
es")} acts=${rows.length>0&&lib_core$html`<a class="link t13r" href=${router$base+"/emails?status=bounced"}>${i18n$t("overview.allBounced")}</a>`}>${rows.length?
lib_core$html`<table class="table table--fixed table--two"><thead class="hide-s"><tr><th class="w-status">${i18n$t("emails.status")}</th><th class="w-to">${i18n$t(
"emails.to")}</th><th>${i18n$t("overview.why")}</th><th class="w-age num">${i18n$t("ui.when")}</th></tr></thead><tbody>${rows.map(r=>{let line=r.reason,[code,reply]=email_parts$replyOf(
line?.detail??{}),who=line?.recipient??r.to[0],link=lib_core$html`<a href=${router$base+paths$encoded`/emails/${r.id}`}><bdi>${who}</bdi></a>`;return lib_core$html`<tr key=${r.
id}><td class="w-status hide-s"><${ui_base$Status} of=${r.state} /></td><td class="cell-cut w-to hide-s" title=${who}>${link}</td><td class="cell-cut" title=${reply}><span class="only-s cut">${link}</span><span class="cell-sub"><${ui_base$Status} of=${r.
last_event} />${reply}</span><span class="only-l">${reply||r.subject} ${code&&lib_core$html`<span class="mono muted">${code}</span>`}</span></td><td class="num muted w-age"><${ui_base$Time} at=${line?.
created_at??r.created_at} /></td></tr>`})}</tbody></table>`:got.data&&lib_core$html`<p class="muted">${i18n$t("overview.noFailures")}</p>`}<//>`}import{relays_add$Steps,relays_add$addDialog}from"./app.js";import{send$sendDialog}from"./app.js";function relayStep(got){if(!state$me.value.operator)return null;let relays=got.data?.data??[],good=relays.find(r=>r.state==="open"||r.state==="resting"),bad=relays.
find(r=>r.state==="failing"||r.state==="paused"),test=kind=>lib_core$html`<${ui_base$Button} kind=${kind} href=${router$base+paths$encoded`/operator/relays?relay=${good.
region}`}>${i18n$t("overview.steps.relayTest")}<//>`,change=lib_core$html`<a class="link t13r" href=${router$base+"/operator/relays"}>${i18n$t("overview.steps.c\
hange")}</a>`;return good?.last_test?.ok?{name:"relay",done:!0,text:lib_core$html`<span class="mono">${good.host}</span> ${i18n$t("overview.steps.relayDone")}`,
act:change}:good?.last_test?{name:"relay",bad:!0,text:lib_core$html`<span class="mono">${good.host}</span>: ${good.last_test.said}`,act:kind=>lib_core$html`<${ui_base$Button} kind=${kind} href=${router$base+
paths$encoded`/operator/relays?relay=${good.region}`}>${i18n$t("overview.steps.relayMend")}<//>`}:good?{name:"relay",text:lib_core$html`<span class="mono">${good.
host}</span> ${i18n$t("overview.steps.relayUntested")}`,act:test}:bad?{name:"relay",bad:!0,text:lib_core$html`<span class="mono">${bad.host}</span>: ${bad.reason??
i18n$t(`status.${bad.state}`)}`,act:kind=>lib_core$html`<${ui_base$Button} kind=${kind} href=${router$base+paths$encoded`/operator/relays?relay=${bad.region}`}>${i18n$t(
"overview.steps.relayMend")}<//>`}:{name:"relay",text:lib_core$html`${i18n$t("overview.steps.relayText")} <code>mailer relays add eu-west-1 --url-file FILE</code>`,
act:kind=>lib_core$html`<${ui_base$Button} kind=${kind} onClick=${async()=>{await relays_add$addDialog(),await got.reload()}}>${i18n$t("relays.add")}<//>`}}function dnsStep(domain,got){
if(!domain)return{name:"dns",text:i18n$t("overview.steps.dnsText")};let open=lib_core$html`<a class="link t13r" href=${router$base+paths$encoded`/domains/${domain.
id}`}>${i18n$t("overview.steps.open")}</a>`;if(domain.status==="verified")return{name:"dns",done:!0,text:i18n$t("overview.steps.dnsDone"),act:open};let records=got.
data?.records??[],left=records.filter(r=>r.status!=="verified"),looked=left.some(r=>r.live==="missing"||r.live==="mismatch");return{name:"dns",bad:domain.status===
"failed",title:looked?i18n$t("overview.steps.dnsLeft",{n:left.length,all:records.length}):void 0,text:lib_core$html`${i18n$t("overview.steps.dnsWrong")} ${left.
slice(0,3).map((r,i)=>lib_core$html`${i?", ":""}${r.record??r.type} <span class="mono">${r.name}</span>`)}`,act:kind=>lib_core$html`<${ui_base$Button} kind=${kind} href=${router$base+
paths$encoded`/domains/${domain.id}`}>${i18n$t("overview.steps.dnsShow",{n:left.length||1})}<//>`}}var reported=got=>(got.data?.data??[]).some(r=>r.open&&r.last_seen_at);
function dismiss(){localStorage.setItem("mailer.first-steps","dismissed"),dismissed.value=!0}var dismissed=lib_core$signal(stored());function stored(){try{return localStorage.
getItem("mailer.first-steps")==="dismissed"}catch{return!1}}function FirstSteps({domains=[],emails,capturing}){let reporting=state$me.value.operator&&!capturing&&
!dismissed.value,reports=api$useGet(reporting?"/ingest":null,void 0,{every:15}),over=dismissed.value||!emails&&(!reporting||!reports.data||reported(reports)),relays=api$useGet(
!over&&state$me.value.operator&&!capturing?"/relays":null,{},{team:null,every:5}),keys=api$useGet(over?null:"/api-keys",{limit:1}),domain=domains.find(d=>d.status===
"verified")??domains[0],records=api$useGet(!over&&domain&&domain.status!=="verified"&&!capturing?paths$encoded`/domains/${domain.id}`:null,{},{every:30});if(over)
return null;let waits=emails?.[0],sent={name:"send",done:!0,text:i18n$t("overview.steps.sendDone")},send=waits?{name:"send",text:lib_core$html`${i18n$t("overvie\
w.steps.sendWaits")} <a class="link" href=${router$base+paths$encoded`/emails/${waits.id}`}>${i18n$t("overview.steps.sendWhy")}</a>`,act:kind=>lib_core$html`<${ui_base$Button} kind=${kind} onClick=${()=>router$go(
paths$encoded`/emails/${waits.id}`)}>${i18n$t("overview.steps.open")}<//>`}:{name:"send",text:i18n$t("overview.steps.sendText"),act:kind=>lib_core$html`<${ui_base$Button} kind=${kind} onClick=${send$sendDialog}>${i18n$t(
"emails.sendFirst")}<//>`},key=keys.data?.data.length?{name:"key",done:!0,text:lib_core$html`<bdi>${keys.data.data[0].name}</bdi>`,act:lib_core$html`<a class="link t13r" href=${router$base+
"/keys"}>${i18n$t("overview.steps.open")}</a>`}:{name:"key",text:lib_core$html`${i18n$t("overview.steps.keyText")} <code>mailer keys create --name my-app --permission sending_access</code>`,
act:state$mayAdmin.value&&(kind=>lib_core$html`<${ui_base$Button} kind=${kind} href=${router$base+"/keys?add=1"}>${i18n$t("overview.steps.keyAct")}<//>`)},steps=capturing?
[key,emails?send:sent]:[relayStep(relays),domain?{name:"domain",done:!0,text:lib_core$html`<span class="mono">${domain.name}</span>`,act:lib_core$html`<a class="link t13r" href=${router$base+
paths$encoded`/domains/${domain.id}`}>${i18n$t("overview.steps.open")}</a>`}:{name:"domain",text:lib_core$html`${i18n$t("overview.steps.domainText")} <code>mailer domains add example.com</code>`,
act:state$mayAdmin.value&&(kind=>lib_core$html`<${ui_base$Button} kind=${kind} href=${router$base+"/domains?add=1"}>${i18n$t("overview.steps.domainAct")}<//>`)},
dnsStep(domain,records),key,emails?send:sent,reported(reports)?{name:"event",done:!0,text:i18n$t("overview.steps.eventDone")}:{name:"event",text:i18n$t("overvie\
w.steps.eventText"),act:state$me.value.operator&&(kind=>lib_core$html`<${ui_base$Button} kind=${kind} href=${router$base+"/operator/reports"}>${i18n$t("overview\
.steps.eventAct")}<//>`)}].filter(Boolean),now=steps.findIndex(s=>!s.done),done=steps.filter(s=>s.done).length;return lib_core$html`<section class="section" aria-labelledby="first-steps"><div class="section-head"><h2 id="first-steps">${i18n$t(
"overview.steps.title")}</h2><span class="muted t13r">${i18n$t("overview.steps.done",{n:done,all:steps.length})}</span>${!emails&&lib_core$html` <${ui_base$Button} kind="quiet" onClick=${dismiss}>${i18n$t(
"overview.steps.dismiss")}<//>`}</div><ol class="steps">${steps.map((s,i)=>lib_core$html`<li key=${s.name} class=${s.done?"is-done":i===now?"is-now":""} aria-current=${i===
now?"step":void 0}><${ui_base$Icon} name=${s.done?"check":s.bad?"alert":i===now?"right":"minus"} class=${s.bad?"bad":""} /><div><h3>${s.title??i18n$t(`overview.\
steps.${s.name}`)}</h3><p class=${s.done?"muted":""}>${s.text}</p></div>${typeof s.act=="function"?s.act(i===now?"primary":""):s.act}</li>`)}</ol></section>`}import{own_invitations$OwnInvitations}from"./app.js";import{queue_words$grouped,queue_words$lookOf,queue_words$reasonOf}from"./app.js";import{relays_lights$Light,relays_lights$Relays,relays_lights$doing,relays_lights$nameOf,relays_lights$only}from"./app.js";import{ui_chart$Bars,ui_chart$Legend,ui_chart$Meter,ui_chart$Scale,ui_chart$Spark,ui_chart$few,ui_chart$scaleOf}from"./app.js";var lines={bounces:[4,5],complaints:[.05,.1]},periods={"24h":24,"7d":168,"30d":720},hour=36e5,day24=24*hour;function questionOf(period,domain){let daily=period===
"30d",end=daily?new Date().setHours(24,0,0,0):Math.ceil(Date.now()/hour)*hour,length=periods[period]*hour,start=new Date(end-Math.max(2*length,7*day24));return daily&&
start.setHours(start.getHours()>12?24:0,0,0,0),{query:{timezone:Intl.DateTimeFormat().resolvedOptions().timeZone,domain_id:domain,start_date:start.toISOString(),
dimensions:"period",granularity:daily?"daily":"hourly",metrics:"sent,delivered,bounced,bounced_permanent,complained,failed"},end,length}}var metrics=["sent","de\
livered","bounced","bounced_permanent","complained","failed"],sum=rows=>Object.fromEntries(metrics.map(m=>[m,rows.reduce((n,r)=>n+r[m],0)]));function figuresOf(data,{
end,length},period){let within=(from,to)=>data.data.filter(r=>Date.parse(r.period)>=from&&Date.parse(r.period)<to),slack=data.granularity==="daily"?hour:0,now=within(
end-length-slack,end+slack);return{now:sum(now),before:sum(within(0,end-length-slack)),week:sum(within(end-7*day24-slack,end+slack)),rows:period==="7d"?byDay(now):
now,hourly:period==="24h"}}function byDay(rows){return[...Map.groupBy(rows,r=>new Date(r.period).toDateString()).values()].map(of=>({...sum(of),period:of[0].period}))}
function Figure({label,value,small,note,children}){return lib_core$html`<div class="stat"><p class="stat-label">${label}</p><p class="stat-value">${value??lib_core$html`<span class="muted">–</span>`}${small!==
void 0&&lib_core$html` <small>${small}</small>`}</p>${children}<p class="stat-note">${note}</p></div>`}function Rate({label,part,n,sent,marks,digits,of}){if(sent<
100)return lib_core$html`<${Figure} label=${label} note=${i18n$t("overview.from100")} />`;let value=part*100,words={slow:format$percent(marks[0]/100,digits-1),pause:format$percent(
marks[1]/100,digits-1)},enforced=state$me.value.guardrails==="enforce",near=value>=marks[0]?lib_core$html`<span class="bad medium">${i18n$t("overview.over")}</span> `:
value>=marks[0]*.8?lib_core$html`<span class="warn medium">${i18n$t("overview.close")}</span> `:"";return lib_core$html`<${Figure} label=${label} value=${format$percent(
part,digits)} small=${format$number(n)} note=${lib_core$html`${near}${i18n$t(enforced?"overview.lines":"overview.warnLines",words)}`}><${ui_chart$Scale} value=${value} lines=${marks} label=${i18n$t(
enforced?`overview.scale.${of}`:"overview.warnScale",{value:format$percent(part,digits),...words})} /><//>`}function Figures({now,before,week:w,period}){let{sent,
delivered}=now,change=before.sent?(sent-before.sent)/before.sent:null;return lib_core$html`<section class="stats" aria-label=${i18n$t("overview.figures")}>
	<${Figure} label=${i18n$t("overview.sent")} value=${format$number(sent)} note=${sent?change===null?i18n$t("overview.noneBefore"):i18n$t(change<0?"overview.less":
"overview.more",{part:format$percent(Math.abs(change),0),period:i18n$t(`overview.before.${period}`)}):i18n$t("overview.nothingYet")} />
	<${Figure} label=${i18n$t("overview.delivered")} value=${sent&&delivered?format$percent(Math.min(1,delivered/sent)):null} small=${delivered?format$number(delivered):
void 0} note=${delivered?i18n$t("overview.unreported",{n:Math.max(0,sent-delivered-now.bounced)}):i18n$t("overview.onceReported")} />
	<${Rate} of="bounces" label=${i18n$t("overview.bounces")} part=${w?.sent?w.bounced_permanent/w.sent:0} n=${w?.bounced_permanent??0} sent=${w?.sent??0} marks=${lines.
bounces} digits=${2} />
	<${Rate} of="complaints" label=${i18n$t("overview.complaints")} part=${w?.sent?w.complained/w.sent:0} n=${w?.complained??0} sent=${w?.sent??0} marks=${lines.complaints} digits=${3} /></section>`}
var hourOf=at=>new Intl.DateTimeFormat(i18n$language.value,{hour:"2-digit",minute:"2-digit",hourCycle:"h23"}).format(new Date(at));function partsOf(row){let lost=Math.
min(row.sent,row.bounced+row.failed),delivered=Math.min(row.sent-lost,row.delivered);return[[delivered,"good"],[row.sent-lost-delivered,""],[lost,"over"]]}function Charts({
rows,hourly,period}){let every=Math.ceil(rows.length/8),named=rows.map((r,i)=>({name:hourly?hourOf(r.period):format$day(r.period),axis:i%every===0?hourly?hourOf(
r.period):format$day(r.period):void 0,row:r})),most=rows.findIndex(r=>r.sent>0&&r.sent===Math.max(...rows.map(one=>one.sent))),sent=named.map((b,i)=>({name:b.name,
axis:b.axis,value:b.row.sent,parts:partsOf(b.row),word:i===most?format$number(b.row.sent):void 0,note:b.row.bounced+b.row.failed?i18n$t("overview.lost",{n:b.row.
bounced+b.row.failed}):void 0})),rate=named.map(b=>{let value=b.row.sent?100*b.row.bounced_permanent/b.row.sent:0,bad=value>=lines.bounces[0]&&b.row.sent>=20;return{
name:b.name,axis:b.axis,value,bad,word:bad?format$percent(value/100,1):void 0,note:i18n$t("overview.ofSent",{n:b.row.bounced_permanent,sent:b.row.sent})}}),near=Math.
max(...rate.map(b=>b.value))>=lines.bounces[0]/2,line={value:lines.bounces[0],word:i18n$t(state$me.value.guardrails==="enforce"?"overview.slowAt":"overview.warn\
At")};return lib_core$html`<${ui_base$Section} title=${i18n$t(hourly?"overview.byHour":"overview.byDay")} acts=${lib_core$html`<span class="t12 muted">${i18n$t(
"overview.zone",{zone:Intl.DateTimeFormat().resolvedOptions().timeZone})}</span>`}>
	<${ui_chart$Bars} label=${i18n$t(hourly?"overview.byHour":"overview.byDay")} bars=${sent} show=${v=>format$number(v)} height=${168} table=${!1} least=${4} key=${`\
s${period}`} />
	${sent.filter(b=>b.value>0).length>=ui_chart$few&&lib_core$html`<${ui_chart$Legend} of=${[["good",i18n$t("overview.parts.delivered")],["",i18n$t("overview.part\
s.open")],["over",i18n$t("overview.parts.lost")]]} />`}
	${rows.some(r=>r.bounced_permanent)&&lib_core$html`<p class="t12 muted chart-title">${near?i18n$t("overview.bounceRate"):i18n$t("time.joined",{one:i18n$t("over\
view.bounceRate"),two:line.word})}</p><${ui_chart$Bars} label=${i18n$t("overview.bounceRate")} bars=${rate} show=${v=>format$percent(v/100,near?0:2)} height=${104} table=${!1} least=${near?
4:.1} limits=${near?[line]:[]} key=${`b${period}`} />`}
	<details class="fold"><summary><${ui_base$Icon} name="right" />${i18n$t("ui.asTable")}</summary><table class="table"><thead><tr><th>${i18n$t("ui.when")}</th><th class="num">${i18n$t(
"overview.sent")}</th><th class="num">${i18n$t("overview.lostHead")}</th><th class="num">${i18n$t("overview.hard")}</th></tr></thead><tbody>${named.map(b=>lib_core$html`<tr><td>${b.
name}</td><td class="num">${format$number(b.row.sent)}</td><td class="num">${format$number(b.row.bounced+b.row.failed)}</td><td class="num">${format$number(b.row.
bounced_permanent)}</td></tr>`)}</tbody></table></details><//>`}function Waiting({queue}){let groups=queue_words$grouped(queue.by).slice(0,6);return lib_core$html`<${ui_base$Section} title=${i18n$t(
"overview.waiting")} acts=${lib_core$html`<a class="link t13r" href=${router$base+"/queue"}>${i18n$t("queue.title")}</a>`}>
	<p class="stat-value">${format$number(queue.waiting)} <small>${queue.oldest&&queue.waiting?i18n$say("overview.oldest",{time:lib_core$html`<${ui_base$Time} at=${queue.
oldest} />`}):queue.waiting?"":i18n$t("overview.noneWaits")}</small></p>
	${groups.length>0&&lib_core$html`<table class="table table--plain"><thead class="vh"><tr><th>${i18n$t("queue.reason")}</th><th>${i18n$t("queue.emails")}</th></tr></thead><tbody>${groups.
map(g=>lib_core$html`<tr key=${g.key}><td><a href=${router$base+paths$encoded`/queue?tab=emails&relay=${g.relay}&state=${g.state}`} title=${g.detail}><${ui_base$Status} of=${queue_words$lookOf(
g.state)} word=${g.state==="relay"?`${g.word}: ${g.relay}`:g.word} /></a></td><td class="num">${format$number(g.count)}</td></tr>`)}</tbody></table>`}<//>`}function Flight(){
let rows=counts$leaving.value??[];return rows.length?lib_core$html`<${ui_base$Section} title=${i18n$t("overview.flight",{n:rows.length})} acts=${lib_core$html`<a class="link t13r" href=${router$base+
"/broadcasts"}>${i18n$t("broadcasts.title")}</a>`}><div class="stack">${rows.map(b=>{let done=b.told?.done??b.sent_count,total=b.told?.total;return lib_core$html`<div class="stack stack--2 wide" key=${b.
id}><div class="row row--wrap wide"><a class="medium" href=${router$base+paths$encoded`/broadcasts/${b.id}/report`}><bdi>${b.name||i18n$t("overview.unnamed")}</bdi></a><span class="muted t13r push">${total?
i18n$t("overview.doneOf",{n:done,total}):i18n$t("overview.done",{n:done})}${b.finishes_at?lib_core$html` · ${i18n$say("overview.finishes",{time:lib_core$html`<${ui_base$Time} at=${b.
finishes_at} as="both" />`})}`:""}</span></div>${total?lib_core$html`<${ui_chart$Meter} thick part=${done/total} label=${i18n$t("overview.doneOf",{n:done,total})} />`:
""}</div>`})}</div><//>`:null}var Needs=({needs})=>needs.length>0&&lib_core$html`<div class="stack stack--2 overview-needs">${needs.slice(0,4).map(n=>lib_core$html`<${ui_base$Notice} kind="bad" icon="alert">${n.
what}. <code>${n.fix}</code><//>`)}</div>`;function Server(){let got=api$useGet("/status",{},{team:null,every:15,live:e=>e.name==="queue"||e.name==="relay"});return got.
error&&!got.data?lib_core$html`<${ui_base$Failed} error=${got.error} retry=${got.reload} />`:got.data?lib_core$html`<div class="page"><${Needs} needs=${got.data.
needs} /><div class="cols"><${Waiting} queue=${got.data.queue} /><${ui_base$Section} title=${i18n$t("relays.title")}><ul class="items">${got.data.relays.map(r=>lib_core$html`<${relays_lights$Light} key=${r.
region} of=${r} />`)}</ul><//></div></div>`:lib_core$html`<${ui_base$Bones} />`}function Overview(){return state$team.value?lib_core$html`<${OfTeam} />`:lib_core$html`<${ui_base$Head} title=${i18n$t(
"overview.title")} note=${lib_core$html`<${emails$Live} />`} />${state$me.value.operator?lib_core$html`<${Server} />`:lib_core$html`<div class="page"><${own_invitations$OwnInvitations} /></div><${ui_base$Empty} icon="teams" title=${i18n$t(
"overview.noTeam")}>${i18n$t("overview.noTeamText")}<//>`}`}function OfTeam(){let asked=router$place.value.query.get("period")??"",period=asked in periods?asked:
"24h",domain=router$place.value.query.get("domain")??void 0,moves=e=>e.name==="email"||e.name==="queue",question=questionOf(period,domain),got=api$useGet("/emai\
ls/metrics",question.query,{every:15}),of=got.data&&figuresOf(got.data,question,period),domains=api$useGet("/domains",{limit:100}),queue=api$useGet("/queue",{limit:1},
{live:moves,every:15}),failures=useFailures(),{capturing}=state$me.value,none=of&&!of.now.sent&&!of.week.sent,newest=api$useGet(none?"/emails":null,{limit:5},{live:moves}),
head=lib_core$html`<${ui_base$Head} title=${i18n$t("overview.title")} note=${lib_core$html`<${emails$Live} />`}><${ui_base$Seg} label=${i18n$t("overview.period")} value=${period} onChange=${p=>router$setQuery(
{period:p==="24h"?null:p})} options=${Object.keys(periods).map(p=>[p,i18n$t(`overview.periods.${p}`)])} /><span class="hide-s"><${ui_base$Select} bare label=${i18n$t(
"overview.domain")} value=${domain??""} onChange=${d=>router$setQuery({domain:d||null})} options=${[["",i18n$t("overview.allDomains")],...(domains.data?.data??[]).
map(d=>[d.id,d.name])]} /></span><//>`;if(got.error&&!got.data)return lib_core$html`${head}<${ui_base$Failed} error=${got.error} retry=${got.reload} />`;if(!of||
none&&!newest.data)return lib_core$html`${head}<${ui_base$Bones} />`;let first=none&&newest.data.data.every(e=>["queued","scheduled","suppressed","failed","canc\
eled","delivery_delayed"].includes(e.last_event))&&!newest.data.has_more;return lib_core$html`${head}<div class=${`page ${first?"page--text":""}`}>${capturing&&
lib_core$html`<${ui_base$Notice}>${i18n$t("overview.capturing")}<//>`}<${FirstSteps} domains=${domains.data?.data} emails=${first?newest.data.data:null} capturing=${capturing} />
	<${Figures} now=${of.now} before=${of.before} week=${of.week} period=${period} />
	${!first&&lib_core$html`<${Charts} rows=${of.rows} hourly=${of.hourly} period=${period} />`}
	${(!first||queue.data?.waiting>0)&&lib_core$html`<div class=${state$me.value.operator?"cols":""}>${queue.data&&lib_core$html`<${Waiting} queue=${queue.data} />`}${state$me.
value.operator&&lib_core$html`<${ui_base$Section} title=${i18n$t("relays.title")} acts=${lib_core$html`<a class="link t13r" href=${router$base+"/operator/relays"}>${i18n$t(
"relays.all")}</a>`}><${relays_lights$Relays} /><//>`}</div>`}
	<${Flight} />
	${!first&&lib_core$html`<${Failures} got=${failures} />`}</div>`}export{Overview as default};
