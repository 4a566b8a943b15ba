import{lib_core$Fragment,lib_core$batch,lib_core$cloneElement,lib_core$computed,lib_core$createContext,lib_core$effect,lib_core$h,lib_core$html,lib_core$render,
lib_core$signal,lib_core$untracked,lib_core$useCallback,lib_core$useComputed,lib_core$useContext,lib_core$useEffect,lib_core$useId,lib_core$useLayoutEffect,lib_core$useMemo,
lib_core$useReducer,lib_core$useRef,lib_core$useSignal,lib_core$useSignalEffect,lib_core$useState}from"./app.js";import{api$ApiError,api$address,api$api,api$forget,api$proof,api$request,api$silent,api$useGet,api$useList}from"./app.js";import{format$ago,format$clock,format$day,format$duration,format$exact,format$gap,format$mailbox,format$number,format$percent,format$relative,format$seconds,format$short,
format$size,format$stamp}from"./app.js";import{i18n$find,i18n$language,i18n$languages,i18n$preferred,i18n$say,i18n$speak,i18n$t}from"./app.js";import{router$base,router$go,router$href,router$match,router$place,router$setQuery,router$start}from"./app.js";import{state$choose,state$mayAdmin,state$me,state$membership,state$signedIn,state$signedOut,state$stillSignedIn,state$team}from"./app.js";import{emails$Live,emails$default}from"./app.js";import{paths$domainIn,paths$encoded,paths$fileAt,paths$idOf,paths$isId,paths$isPath,paths$ownDomain}from"./app.js";import{ui_base$Bones,ui_base$Button,ui_base$Check,ui_base$Code,ui_base$Copy,ui_base$CopyButton,ui_base$Empty,ui_base$Facts,ui_base$Failed,ui_base$Field,ui_base$Head,
ui_base$Icon,ui_base$Id,ui_base$Input,ui_base$Notice,ui_base$Section,ui_base$Sections,ui_base$Seg,ui_base$Select,ui_base$Status,ui_base$Tabs,ui_base$Time,ui_base$Verdict,
ui_base$copy,ui_base$dialogs,ui_base$useEscape}from"./app.js";import{ui_float$DialogBody,ui_float$Dialogs,ui_float$Menu,ui_float$Toasts,ui_float$attempt,ui_float$confirm,ui_float$dialog,ui_float$toast,ui_float$useAsked}from"./app.js";var bodyOf=(filter,at)=>Object.fromEntries(Object.entries({...filter,restored:filter.restored?!0:void 0,team:at.named}).filter(([,v])=>v!==void 0&&v!=="")),post=(verb,body,at)=>api$api.
post(`/queue/${verb}`,body,{team:at.header});async function act(verb,filter,n,at,done){if(verb==="drop"&&!await ui_float$confirm({title:n===void 0?i18n$t("queue\
.dropTitleFit"):i18n$t("queue.dropTitle",{n}),text:i18n$t("queue.dropText"),act:n===void 0?i18n$t("queue.verbs.drop"):i18n$t("queue.acts.drop",{n}),n:n??0}))return;
let body=bodyOf(filter,at),back={hold:"release",release:"hold"}[verb];await ui_float$attempt(async()=>{let result=await post(verb,body,at);return await done(),result},
result=>result.changed?i18n$t(`queue.done.${verb}`,{n:result.changed}):i18n$t("queue.done.nothing"),{undo:back&&body.ids?()=>act(back,filter,n,at,done):void 0})}
async function move(filter,n,at,done){let result=await ui_float$dialog(close=>lib_core$html`<${Move} ...${{filter,n,at,close}} />`);result&&(ui_float$toast([i18n$t(
"queue.done.move",{n:result.changed}),...result.notes??[]].join(" ")),await done())}function Move({filter,n,at,close}){let relays=api$useGet("/relays",{},{team:null}),
[to,setTo]=lib_core$useState(""),[refused,setRefused]=lib_core$useState(""),others=(relays.data?.data??[]).filter(r=>r.region!==filter.relay),send=async()=>{try{
close(await api$api.post("/queue/move",{...bodyOf(filter,at),to_relay:to||others[0]?.region},{team:at.header}))}catch(e){if(!(e instanceof api$ApiError))throw e;
setRefused(e.message)}};return lib_core$html`<${ui_float$DialogBody} title=${n===void 0?i18n$t("queue.moveTitleFit"):i18n$t("queue.moveTitle",{n})} onSubmit=${send} acts=${lib_core$html`<${ui_base$Button} kind="quiet" onClick=${()=>close()}>${i18n$t(
"ui.cancel")}<//><${ui_base$Button} type="submit" kind="primary" disabled=${!others.length}>${n===void 0?i18n$t("queue.verbs.move"):i18n$t("queue.acts.move",{n})}<//>`}>
		${relays.error?lib_core$html`<${ui_base$Failed} error=${relays.error} retry=${relays.reload} />`:relays.data&&!others.length?lib_core$html`<${ui_base$Notice} kind="warn">${i18n$t(
"queue.noOther")}<//>`:lib_core$html`<${ui_base$Select} label=${i18n$t("queue.moveTo")} value=${to||others[0]?.region} onChange=${setTo} options=${others.map(r=>[
r.region,`${r.region}, ${i18n$t(`status.${r.state}`)}`])} hint=${i18n$t("queue.moveHint")} />`}
		${refused&&lib_core$html`<${ui_base$Notice} kind="bad">${refused}<//>`}<//>`}async function requeue(at,filters,done){let result=await ui_float$dialog(close=>lib_core$html`<${Requeue} at=${at} filters=${filters} close=${close} />`);
result&&(ui_float$toast(result.changed?i18n$t("queue.done.requeue",{n:result.changed}):i18n$t("queue.done.nothing")),await done())}function Requeue({at,filters,
close}){let[since,setSince]=lib_core$useState("1h"),[domain,setDomain]=lib_core$useState(filters.to_domain??""),[refused,setRefused]=lib_core$useState(""),send=async()=>{
try{close(await post("requeue",bodyOf({failed_since:since,to_domain:domain.trim(),relay:filters.relay},at),at))}catch(e){if(!(e instanceof api$ApiError))throw e;
setRefused(e.message)}};return lib_core$html`<${ui_float$DialogBody} title=${i18n$t("queue.requeueTitle")} onSubmit=${send} acts=${lib_core$html`<${ui_base$Button} kind="quiet" onClick=${()=>close()}>${i18n$t(
"ui.cancel")}<//><${ui_base$Button} type="submit" kind="primary">${i18n$t("queue.requeue")}<//>`}><p>${i18n$t("queue.requeueText")}</p>
		<${ui_base$Select} label=${i18n$t("queue.since")} value=${since} onChange=${setSince} options=${["1h","6h","1d","3d"].map(a=>[a,i18n$t(`queue.ages.${a}`)])} />
		<${ui_base$Input} label=${i18n$t("queue.domain")} value=${domain} onInput=${setDomain} hint=${i18n$t("queue.anyDomain")} autocomplete="off" />
		${refused&&lib_core$html`<${ui_base$Notice} kind="bad">${refused}<//>`}<//>`}import{queue_words$grouped,queue_words$lookOf,queue_words$reasonOf}from"./app.js";import{ui_list$Bulk,ui_list$Csv,ui_list$Foot,ui_list$Table,ui_list$address}from"./app.js";function Doubts({at,teams}){let query={team:at.named},list=api$useList("/queue/doubts",query,{team:at.header,live:e=>e.name==="queue"}),who=row=>teams?.find(one=>one.
id===row.team)?.name??"–";return lib_core$html`<div class="tools tools--top"><span class="t13r muted grow">${i18n$t("queue.doubtsText")}</span><${ui_list$Csv} path="/queue/doubts" query=${query} team=${at.
header} name="doubts" /></div>
	<${ui_list$Table} list=${list} label=${i18n$t("queue.tabs.doubts")} open=${at.all?void 0:row=>router$base+paths$encoded`/emails/${row.email_id}`} empty=${lib_core$html`<${ui_base$Empty} icon="queue" title=${i18n$t(
"queue.noDoubts")}>${i18n$t("queue.noDoubtsText")}<//>`} columns=${[{name:i18n$t("queue.became"),class:"cell-cut",cell:row=>lib_core$html`<span title=${row.settled_at?
`${row.settled} (${format$exact(row.settled_at)})`:i18n$t("queue.openDoubt")}><${ui_base$Status} of=${row.settled_at?"neutral":"delivery_delayed"} word=${row.settled??
i18n$t("queue.openDoubt")} /></span><span class="cell-sub">${row.to.join(", ")}</span>`},{name:i18n$t("queue.to"),class:"w-to cell-cut hide-s",cell:row=>at.all?
lib_core$html`<bdi title=${row.to.join(", ")}>${row.to.join(", ")}</bdi>`:lib_core$html`<a href=${router$base+paths$encoded`/emails/${row.email_id}?tab=conversation`} title=${row.
to.join(", ")}><bdi>${row.to.join(", ")}</bdi></a>`},...at.all?[{name:i18n$t("queue.team"),class:"w-team cell-cut hide-s",cell:who}]:[],{name:i18n$t("queue.rela\
y"),class:"w-relay cell-cut hide-s",cell:row=>lib_core$html`<span class="mono">${row.relay}</span>`},{name:i18n$t("queue.messageId"),class:"cell-cut hide-s",cell:row=>row.
message_id?lib_core$html`<${ui_base$Copy} text=${row.message_id} />`:"–"},{name:i18n$t("queue.when"),class:"w-age num muted",cell:row=>lib_core$html`<${ui_base$Time} at=${row.
created_at} />`}]} />`}import{relays_lights$Light,relays_lights$Relays,relays_lights$doing,relays_lights$nameOf,relays_lights$only}from"./app.js";import{ui_chart$Bars,ui_chart$Legend,ui_chart$Meter,ui_chart$Scale,ui_chart$Spark,ui_chart$few,ui_chart$scaleOf}from"./app.js";var filterNames=["relay","state","to_domain","from_domain","older_than","broadcast_id","restored"];function scope(){let asked=router$place.value.query.get("team"),
all=state$me.value.operator&&(asked==="all"||!state$team.value||asked&&asked!==state$team.value);return{all:!!all,header:all?null:state$team.value,named:all&&asked&&
asked!=="all"?asked:void 0}}function TeamChoice({teams,named,all}){if(!state$me.value.operator)return null;let rows=teams??state$me.value.teams;return lib_core$html`<${ui_base$Select} bare label=${i18n$t(
"queue.team")} value=${all?named??"all":state$team.value} onChange=${id=>router$setQuery({team:id===state$team.value?null:id})} options=${[["all",i18n$t("queue.\
allTeams")],...rows.map(one=>[one.id,one.name])]} />`}function Said({data,operator,at,done}){let groups=queue_words$grouped(data.by),worst=groups.find(g=>g.state===
"relay");if(worst)return lib_core$html`<${ui_base$Verdict} kind="bad" icon="alert" line=${i18n$t("queue.said.relay",{relay:worst.relay,word:worst.word,n:worst.count})} fix=${worst.
detail?i18n$t("queue.said.words",{words:worst.detail}):i18n$t("queue.said.kept")} acts=${operator&&lib_core$html`<${ui_base$Button} href=${router$base+paths$encoded`/operator/relays?relay=${worst.
relay}`}>${i18n$t("queue.toRelay")}<//><${ui_base$Button} onClick=${()=>move({relay:worst.relay},worst.count,at,done)}>${i18n$t("queue.acts.move",{n:worst.count})}<//>`} />`;
if(!data.waiting)return lib_core$html`<${ui_base$Verdict} kind="good" line=${i18n$t("queue.said.empty")} />`;let held=groups.filter(g=>g.state==="held").reduce(
(sum,g)=>sum+g.count,0);return held?lib_core$html`<${ui_base$Verdict} kind="warn" line=${i18n$t("queue.said.held",{n:held})} fix=${i18n$t("queue.said.heldFix")} acts=${lib_core$html`<${ui_base$Button} icon="play" onClick=${()=>act(
"release",{state:"held"},held,at,done)}>${i18n$t("queue.verbs.release")}<//>`} />`:data.oldest&&Date.now()-new Date(data.oldest).getTime()>6e5?lib_core$html`<${ui_base$Verdict} kind="warn" line=${i18n$t(
"queue.said.late",{n:data.waiting,age:format$relative(data.oldest)})} fix=${i18n$t("queue.said.lateFix")} />`:lib_core$html`<${ui_base$Verdict} kind="good" line=${i18n$t(
"queue.said.moves",{n:data.waiting})} />`}var firstAct={relay:"move",retry:"retry",held:"release",scheduled:"hold",paced:"hold",due:"hold",quota:"hold"};function Reasons({
data,teams,all,operator,at,done}){let groups=queue_words$grouped(data.by),name=ids=>ids.size>1?i18n$t("queue.teams",{n:ids.size}):teams?.find(one=>ids.has(one.id))?.
name??"–";return groups.length?lib_core$html`<table class="table table--fixed"><thead><tr><th>${i18n$t("queue.reason")}</th><th class="hide-s w-relay">${i18n$t(
"queue.relay")}</th>${all&&lib_core$html`<th class="hide-s w-team">${i18n$t("queue.team")}</th>`}<th class="num w-num">${i18n$t("queue.emails")}</th><th class="num w-num"><span class="vh">${i18n$t(
"ui.acts")}</span></th></tr></thead><tbody>${groups.map(g=>{let verb=firstAct[g.state]==="move"&&!operator?"hold":firstAct[g.state],filter={relay:g.relay,state:g.
state==="relay"||g.state in firstAct?g.state:void 0};return lib_core$html`<tr key=${g.key}><td class="cell-cut" title=${g.detail||g.word}><a href=${`${router$base}\
/queue?${new URLSearchParams({...keep(),tab:"emails",relay:g.relay,...filter.state?{state:filter.state}:{}})}`}><${ui_base$Status} of=${queue_words$lookOf(g.state)} word=${g.
word} /></a>${g.detail&&lib_core$html` <span class="muted only-l">${g.detail}</span>`}<span class="cell-sub">${g.relay}${g.detail?` · ${g.detail}`:""}</span></td><td class="hide-s mono">${g.
relay}</td>${all&&lib_core$html`<td class="cell-cut hide-s">${name(g.teams)}</td>`}<td class="num medium">${format$number(g.count)}</td><td class="num"><${ui_base$Button} kind="quiet" label=${i18n$t(
"queue.actOn",{act:i18n$t(`queue.verbs.${verb}`),n:g.count})} onClick=${()=>verb==="move"?move(filter,g.count,at,done):act(verb,filter,g.count,at,done)}>${i18n$t(
`queue.verbs.${verb}`)}<//></td></tr>`})}</tbody></table>`:lib_core$html`<p class="muted">${i18n$t("queue.none")}</p>`}var keep=()=>router$place.value.query.get(
"team")?{team:router$place.value.query.get("team")??""}:{};function Domains({data}){let most=data.to_domains[0]?.count??1;return data.to_domains.length?lib_core$html`<table class="table table--fixed table--plain"><thead><tr><th>${i18n$t(
"queue.domain")}</th><th><span class="vh">${i18n$t("queue.share")}</span></th><th class="num w-num">${i18n$t("queue.emails")}</th></tr></thead><tbody>${data.to_domains.
map(d=>lib_core$html`<tr key=${d.domain}><td class="cell-cut"><a class="mono" href=${`${router$base}/queue?${new URLSearchParams({...keep(),tab:"emails",to_domain:d.
domain})}`}>${d.domain}</a></td><td><${ui_chart$Meter} part=${d.count/most} label=${i18n$t("queue.ofWaiting",{n:d.count})} /></td><td class="num">${format$number(
d.count)}</td></tr>`)}</tbody></table>`:lib_core$html`<p class="muted">${i18n$t("queue.none")}</p>`}function Filters({filters,relays}){let one=(name,value)=>router$setQuery(
{[name]:value||null});return lib_core$html`<div class="tools queue-filters"><${ui_base$Select} bare label=${i18n$t("queue.state")} value=${filters.state??""} onChange=${v=>one(
"state",v)} options=${[["",i18n$t("queue.anyState")],...["due","scheduled","retry","held","relay","quota","paced"].map(s=>[s,i18n$t(`queue.reasons.${s}`)])]} />
	<${ui_base$Select} bare label=${i18n$t("queue.relay")} value=${filters.relay??""} onChange=${v=>one("relay",v)} options=${[["",i18n$t("queue.anyRelay")],...[...new Set(
[...relays,filters.relay].filter(Boolean))].map(r=>[r,r])]} />
	<${ui_base$Select} bare label=${i18n$t("queue.age")} value=${filters.older_than??""} onChange=${v=>one("older_than",v)} options=${[["",i18n$t("queue.anyAge")],
...["10m","1h","6h","1d","3d"].map(a=>[a,i18n$t(`queue.ages.${a}`)])]} />
	<form class="row" onSubmit=${e=>{e.preventDefault(),one("to_domain",e.currentTarget.elements.namedItem("to").value.trim())}}><input class="input" name="to" aria-label=${i18n$t(
"queue.domain")} placeholder=${i18n$t("queue.domain")} value=${filters.to_domain??""} onBlur=${e=>one("to_domain",e.currentTarget.value.trim())} /></form>
	${filterNames.some(n=>filters[n])&&lib_core$html`<${ui_base$Button} kind="quiet" onClick=${()=>router$setQuery(Object.fromEntries(filterNames.map(n=>[n,null])))}>${i18n$t(
"queue.clear")}<//>`}</div>`}function Emails({filters,at,data,operator,reload}){let list=api$useList("/queue",{...filters,team:at.named},{live:e=>e.name==="queu\
e",team:at.header}),[selected,select]=lib_core$useState(new Set),ids=[...selected],done=()=>{select(new Set),list.reload(),reload()},any=filterNames.some(n2=>filters[n2]),
whole=any?filters:{all:!0},n=any?void 0:data.waiting,chosen=list.rows.filter(r=>selected.has(r.id)),picked=chosen.reduce((sum,r)=>sum+(r.count??1),0),columns=[{
name:i18n$t("queue.reason"),class:"cell-name cell-cut",cell:row=>{let said=queue_words$reasonOf(row.state==="retry"||row.state==="relay"?row.reason:row.state);return lib_core$html`<span title=${row.
reason}><${ui_base$Status} of=${queue_words$lookOf(row.state)} word=${said.word} />${said.detail&&lib_core$html` <span class="muted only-l">${said.detail}</span>`}</span><span class="cell-sub">${row.
to.join(", ")||i18n$t("queue.recipients",{n:row.count??0})}</span>`}},{name:i18n$t("queue.to"),class:"w-to cell-cut hide-s",cell:row=>row.broadcast&&row.count?lib_core$html`<a href=${router$base+
paths$encoded`/broadcasts/${row.broadcast}/report`}>${i18n$t("queue.recipients",{n:row.count})}</a>`:lib_core$html`<a href=${router$base+paths$encoded`/emails/${row.
id}`} title=${row.to.join(", ")}><bdi>${row.to.join(", ")}</bdi></a>`},{name:i18n$t("queue.relay"),class:"w-relay cell-cut drop-1",cell:row=>lib_core$html`<span class="mono">${row.
relay}</span>`},{name:i18n$t("queue.nextTry"),class:"w-state num muted hide-s",cell:row=>row.next_at?lib_core$html`<time datetime=${row.next_at} title=${format$exact(
row.next_at)}>${format$relative(row.next_at)}</time>`:"–"},{name:i18n$t("queue.accepted"),class:"w-age num muted",cell:row=>lib_core$html`<${ui_base$Time} at=${row.
created_at} />`}],relays=[...new Set(data.by.map(b=>b.relay))];return lib_core$html`<${Filters} filters=${filters} relays=${relays} />
	<div class="tools"><span class="t13r muted">${any?i18n$t("queue.thatFits"):i18n$t("queue.inAll",{n:data.waiting})}</span><${ui_base$Button} icon="refresh" onClick=${()=>act(
"retry",whole,n,at,done)}>${i18n$t("queue.verbs.retry")}<//><${ui_base$Button} icon="pause" onClick=${()=>act("hold",whole,n,at,done)}>${i18n$t("queue.verbs.hol\
d")}<//><${ui_base$Button} icon="play" onClick=${()=>act("release",whole,n,at,done)}>${i18n$t("queue.verbs.release")}<//>
	<${ui_float$Menu} label=${i18n$t("ui.acts")} items=${[operator&&{icon:"relay",name:i18n$t("queue.verbs.move"),run:()=>move(whole,n,at,done)},{icon:"history",name:i18n$t(
"queue.requeue"),run:()=>requeue(at,filters,done)},null,{icon:"trash",name:i18n$t("queue.verbs.drop"),danger:!0,run:()=>act("drop",whole,n,at,done)}]} /></div>
	<${ui_list$Table} list=${list} label=${i18n$t("queue.title")} columns=${columns} selected=${selected} onSelect=${select} open=${row=>row.broadcast&&row.count?router$base+
paths$encoded`/broadcasts/${row.broadcast}/report`:router$base+paths$encoded`/emails/${row.id}`} empty=${lib_core$html`<${ui_base$Empty} icon="queue" title=${any?
i18n$t("queue.noneFits"):i18n$t("queue.none")} act=${any&&lib_core$html`<${ui_base$Button} onClick=${()=>router$setQuery(Object.fromEntries(filterNames.map(name=>[
name,null])))}>${i18n$t("queue.clear")}<//>`}>${any?"":i18n$t("queue.noneText")}<//>`} />
	${ids.length>0&&lib_core$html`<${ui_list$Bulk} n=${ids.length} clear=${()=>select(new Set)}>${["retry","hold","release"].filter(verb=>chosen.some(r=>r.state===
"held"==(verb==="release"))).map(verb=>lib_core$html`<${ui_base$Button} onClick=${()=>act(verb,{ids},picked,at,done)}>${i18n$t(`queue.verbs.${verb}`)}<//>`)}${operator&&
lib_core$html`<${ui_base$Button} onClick=${()=>move({ids},picked,at,done)}>${i18n$t("queue.verbs.move")}<//>`}<${ui_base$Button} kind="danger" onClick=${()=>act(
"drop",{ids},picked,at,done)}>${i18n$t("queue.acts.drop",{n:picked})}<//><//>`}`}function Queue(){let at=scope(),operator=state$me.value.operator,query=router$place.
value.query,filters=Object.fromEntries(filterNames.map(n=>[n,query.get(n)||void 0])),got=api$useGet("/queue",{limit:1,team:at.named},{live:e=>e.name==="queue",every:10,
team:at.header}),teams=api$useGet(operator?"/teams":null,{limit:100},{team:null}),tab=["emails","doubts"].includes(query.get("tab"))?query.get("tab"):"waiting",
link=to=>`${router$base}/queue?${new URLSearchParams({...keep(),...to?{tab:to}:{}})}`.replace(/\?$/,""),head=lib_core$html`<${ui_base$Head} title=${i18n$t("queu\
e.title")} note=${lib_core$html`<${emails$Live} />`}><span class="hide-s"><${TeamChoice} teams=${teams.data?.data} ...${at} /></span><${ui_list$Csv} path="/queue" query=${{
...filters,team:at.named}} team=${at.header} name="queue" /><//>`;if(got.error&&!got.data)return lib_core$html`${head}<${ui_base$Failed} error=${got.error} retry=${got.
reload} />`;if(!got.data)return head;let data=got.data,done=()=>got.reload();return lib_core$html`${head}<${Said} data=${data} operator=${operator} at=${at} done=${done} />
	<${ui_base$Sections} label=${i18n$t("queue.title")} at=${link(tab==="waiting"?"":tab)} links=${[[i18n$t("queue.tabs.waiting"),link("")],[i18n$t("queue.tabs.ema\
ils"),link("emails"),data.waiting],[i18n$t("queue.tabs.doubts"),link("doubts")]]} />
	${tab==="doubts"?lib_core$html`<${Doubts} at=${at} teams=${teams.data?.data} />`:tab==="emails"?lib_core$html`<div class="queue-top"></div><${Emails} filters=${filters} at=${at} data=${data} operator=${operator} reload=${done} />`:
lib_core$html`<div class="page"><${ui_base$Section} title=${i18n$t("queue.why")} acts=${lib_core$html`<span class="muted t13r">${i18n$t("queue.inAll",{n:data.waiting})}${data.
oldest?lib_core$html` · ${i18n$say("queue.oldest",{time:lib_core$html`<${ui_base$Time} at=${data.oldest} />`})}`:""}</span>`}><${Reasons} data=${data} teams=${teams.
data?.data??state$me.value.teams} all=${at.all} operator=${operator} at=${at} done=${done} /><//>
	<div class=${operator?"cols":""}><${ui_base$Section} title=${i18n$t("queue.domains")} acts=${lib_core$html`<span class="muted t13r">${i18n$t("queue.most")}</span>`}><${Domains} data=${data} /><//>
	${operator&&lib_core$html`<${ui_base$Section} title=${i18n$t("relays.title")} acts=${lib_core$html`<a class="link t13r" href=${`${router$base}/operator/relays`}>${i18n$t(
"relays.all")}</a>`}><${relays_lights$Relays} /><//>`}</div></div>`}`}export{Queue as default};
