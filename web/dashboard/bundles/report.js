import{lib_core$Fragment,lib_core$batch,lib_core$cloneElement,lib_core$computed,lib_core$createContext,lib_core$effect,lib_core$h,lib_core$html,lib_core$render,
lib_core$signal,lib_core$untracked,lib_core$useCallback,lib_core$useComputed,lib_core$useContext,lib_core$useEffect,lib_core$useId,lib_core$useLayoutEffect,lib_core$useMemo,
lib_core$useReducer,lib_core$useRef,lib_core$useSignal,lib_core$useSignalEffect,lib_core$useState}from"./app.js";import{api$ApiError,api$address,api$api,api$forget,api$proof,api$request,api$silent,api$useGet,api$useList}from"./app.js";import{broadcasts$BroadcastStatus,broadcasts$cancel,broadcasts$create,broadcasts$default,broadcasts$duplicate,broadcasts$pageOf,broadcasts$pause,broadcasts$unschedule}from"./shared.js";import{format$ago,format$clock,format$day,format$duration,format$exact,format$gap,format$mailbox,format$number,format$percent,format$relative,format$seconds,format$short,
format$size,format$stamp}from"./app.js";import{i18n$find,i18n$language,i18n$languages,i18n$preferred,i18n$say,i18n$speak,i18n$t}from"./app.js";import{paths$domainIn,paths$encoded,paths$fileAt,paths$idOf,paths$isId,paths$isPath,paths$ownDomain}from"./app.js";import{language_names$languageName}from"./shared.js";import{router$base,router$go,router$href,router$match,router$place,router$setQuery,router$start}from"./app.js";import{ui_base$Bones,ui_base$Button,ui_base$Check,ui_base$Code,ui_base$Copy,ui_base$CopyButton,ui_base$Empty,ui_base$Facts,ui_base$Failed,ui_base$Field,ui_base$Head,
ui_base$Icon,ui_base$Id,ui_base$Input,ui_base$Notice,ui_base$Section,ui_base$Sections,ui_base$Seg,ui_base$Select,ui_base$Status,ui_base$Tabs,ui_base$Time,ui_base$Verdict,
ui_base$copy,ui_base$dialogs,ui_base$useEscape}from"./app.js";import{ui_float$DialogBody,ui_float$Dialogs,ui_float$Menu,ui_float$Toasts,ui_float$attempt,ui_float$confirm,ui_float$dialog,ui_float$toast,ui_float$useAsked}from"./app.js";import{ui_list$Bulk,ui_list$Csv,ui_list$Foot,ui_list$Table,ui_list$address}from"./app.js";var outcomes=["sent","delivered","opened","clicked","not_opened","not_clicked","bounced","complained","unsubscribed","suppressed","failed","canceled"];function People({
of,limit,short=!1}){let chosen=router$place.value.query.get("outcome"),outcome=outcomes.includes(chosen)?chosen:of.counts.clicked?"clicked":of.counts.opened?"op\
ened":"sent",email=short?"":router$place.value.query.get("email")??"",query={type:outcome,email},list=api$useList(paths$encoded`/broadcasts/${of.id}/recipients`,
query,{limit,live:e=>e.name==="broadcast"&&e.id===of.id}),path=paths$encoded`/broadcasts/${of.id}/recipients`,n=of.counts[outcome],acts=lib_core$html`<div class="row row--wrap">${!short&&
lib_core$html`<input class="input" type="search" aria-label=${i18n$t("report.person")} placeholder=${i18n$t("report.person")} value=${email} onChange=${e=>router$setQuery(
{email:e.currentTarget.value.trim()})} />`}
		<${ui_base$Select} bare label=${i18n$t("report.outcome")} value=${outcome} onChange=${to=>router$setQuery({outcome:to})} options=${outcomes.map(o=>[o,i18n$t(`\
report.${o}`)])} />
		${!short&&lib_core$html`<${ui_list$Csv} path=${path} query=${query} name=${`broadcast-${outcome}`} />`}
		${(n??list.rows.length)>0&&lib_core$html`<${ui_base$Button} onClick=${()=>{ui_float$dialog(close=>lib_core$html`<${Make} of=${of} outcome=${outcome} close=${close} />`)}}>${n===
void 0?i18n$t("report.segmentOf"):i18n$t("report.segment",{n})}<//>`}</div>`,link=row=>row.clicked_links?.[0]?.url.replace(/^https?:\/\//,"")??"";return lib_core$html`<${ui_base$Section} title=${i18n$t(
"report.people")} acts=${acts}><${ui_list$Table} list=${short?{...list,page:{...list.page,has_more:!1}}:list} label=${i18n$t("report.people")} open=${row=>row.contact_id?
router$base+paths$encoded`/contacts/${row.contact_id}`:null}
		empty=${lib_core$html`<${ui_base$Empty} icon="audience" title=${i18n$t("report.noPeople")}>${i18n$t("report.noPeopleText")}<//>`} columns=${[{name:i18n$t("rep\
ort.person"),class:"cell-name cell-cut",cell:row=>lib_core$html`<a href=${router$base+paths$encoded`/emails/${row.id}`}><bdi>${row.email}</bdi></a>`},...outcome===
"clicked"?[{name:i18n$t("report.link"),class:"cell-cut muted hide-s",cell:row=>lib_core$html`<bdi title=${link(row)}>${link(row)}</bdi>`}]:[],{name:i18n$t("repo\
rt.state"),class:"w-status",cell:row=>lib_core$html`<${ui_base$Status} of=${row.state} />`}]} />${short&&list.page?.has_more&&lib_core$html`<div class="table-foot"><a class="btn" href=${router$base+
paths$encoded`/broadcasts/${of.id}/report?tab=people&outcome=${outcome}`}>${i18n$t("ui.more")}</a></div>`}<//>`}function Make({of,outcome,close}){let[name,setName]=lib_core$useState(
i18n$t("report.segmentName",{name:of.name,outcome:i18n$t(`report.${outcome}`).toLowerCase()})),[wrong,setWrong]=lib_core$useState(""),make=async()=>{try{let made=await api$api.
post(paths$encoded`/broadcasts/${of.id}/segment`,{name:name.trim(),outcome});close(),ui_float$toast(i18n$t("report.segmentMade",{n:made.contact_count}),{href:router$base+
paths$encoded`/segments/${made.id}`,word:i18n$t("report.segmentOpen")})}catch(e){if(!(e instanceof api$ApiError))throw e;setWrong(e.message)}};return lib_core$html`<${ui_float$DialogBody} title=${i18n$t(
"report.segmentTitle")} onSubmit=${make} acts=${lib_core$html`<${ui_base$Button} onClick=${()=>close()}>${i18n$t("ui.cancel")}<//><${ui_base$Button} type="submit" kind="primary" disabled=${!name.
trim()}>${i18n$t("report.segmentAct")}<//>`}>
		<${ui_base$Input} label=${i18n$t("report.segmentLabel")} value=${name} onInput=${setName} error=${wrong} autofocus /><//>`}import{state$choose,state$mayAdmin,state$me,state$membership,state$signedIn,state$signedOut,state$stillSignedIn,state$team}from"./app.js";import{ui_chart$Bars,ui_chart$Legend,ui_chart$Meter,ui_chart$Scale,ui_chart$Spark,ui_chart$few,ui_chart$scaleOf}from"./app.js";import{ui_frame$Paper}from"./app.js";function Report({params}){let{id}=params,{data,error,reload}=api$useGet(paths$encoded`/broadcasts/${id}`,void 0,{live:e=>e.name==="broadcast"&&e.id===id}),at=router$place.
value.query.get("tab")??"",path=[[i18n$t("broadcasts.title"),`${router$base}/broadcasts`]];if(lib_core$useEffect(()=>{data?.status==="draft"&&router$go(paths$encoded`/broadcasts/${id}`,
{replace:!0})},[data?.status]),error&&!data)return lib_core$html`<${ui_base$Head} title=${i18n$t("report.title")} path=${path} /><${ui_base$Failed} error=${error} retry=${reload} />`;
if(!data||data.status==="draft")return lib_core$html`<${ui_base$Head} title=${i18n$t("report.title")} path=${path} /><${ui_base$Bones} />`;let here=router$base+
paths$encoded`/broadcasts/${id}/report`,to=tab=>tab?`${here}?tab=${tab}`:here,stoppable=data.status==="queued"||data.status==="scheduled";return lib_core$html`<${ui_base$Head} title=${data.
name} path=${path} note=${lib_core$html`<${broadcasts$BroadcastStatus} of=${data} />`}>
		${data.status==="queued"&&lib_core$html`<${ui_base$Button} icon=${data.paused_at?"play":"pause"} onClick=${()=>broadcasts$pause(data,reload)}>${i18n$t(data.paused_at?
"broadcasts.resume":"broadcasts.pause")}<//>`}
		${data.status==="scheduled"&&lib_core$html`<${Undo} of=${data} />`}
		${data.status==="canceled"&&data.counts.canceled>0&&lib_core$html`<${ui_base$Button} icon="send" onClick=${()=>toRest(data)}>${i18n$t("report.sendRest",{n:data.
counts.canceled})}<//>`}
		${stoppable&&lib_core$html`<${ui_base$Button} kind="danger" onClick=${()=>broadcasts$cancel(data,reload)}>${i18n$t("report.cancel")}<//>`}
		${data.status==="sent"&&data.counts.delivered>data.counts.opened&&lib_core$html`<${ui_base$Button} class="hide-s" onClick=${()=>toUnopened(data)}>${i18n$t("re\
port.duplicateUnopened")}<//>`}
		<${ui_list$Csv} path=${paths$encoded`/broadcasts/${id}/recipients`} name=${`broadcast-${id}`} />
		<${ui_float$Menu} label=${i18n$t("ui.acts")} items=${[{icon:"copy",name:i18n$t("report.duplicate"),run:()=>broadcasts$duplicate(id)},data.status==="sent"&&{icon:"\
copy",name:i18n$t("report.duplicateUnopened"),run:()=>toUnopened(data)}]} /><//>
	<${Line} of=${data} />
	<${ui_base$Sections} label=${i18n$t("report.tabs")} at=${to(at)} links=${["","links","people","time"].map(tab=>[i18n$t(`report.${tab||"summary"}`),to(tab)])} />
	${at==="links"?lib_core$html`<${Links} of=${data} />`:at==="people"?lib_core$html`<div class="page"><${People} of=${data} limit=${50} /></div>`:at==="time"?lib_core$html`<${OverTime} of=${data} />`:
lib_core$html`<${Summary} of=${data} />`}`}var toPeople=(b,outcome,name,done)=>ui_float$attempt(async()=>{let segment=await api$api.post(paths$encoded`/broadcasts/${b.
id}/segment`,{name:name.slice(0,200),outcome}),made=await api$api.post(paths$encoded`/broadcasts/${b.id}/duplicate`);await api$api.patch(paths$encoded`/broadcasts/${made.
id}`,{segment_id:segment.id}),router$go(paths$encoded`/broadcasts/${made.id}`)},done),toUnopened=b=>toPeople(b,"not_opened",i18n$t("report.duplicateName",{name:b.
name}),i18n$t("report.duplicating")),toRest=b=>toPeople(b,"canceled",i18n$t("report.restName",{name:b.name}),i18n$t("report.restDone")),undoTime=8e3,beginsNow=of=>of.
status==="scheduled"&&new Date(of.scheduled_at).getTime()-Date.now()<undoTime;function Undo({of}){let[soon]=lib_core$useState(()=>beginsNow(of));return lib_core$html`<${ui_base$Button} kind=${soon?
"primary":""} onClick=${()=>broadcasts$unschedule(of)}>${i18n$t(soon?"ui.undo":"broadcasts.unschedule")}<//>`}function Line({of}){let c=of.counts,done=c.recipients-
c.remaining,n=of.status==="sent"?c.sent:c.recipients,words=beginsNow(of)?i18n$t("report.sending"):of.paused_at?i18n$t("report.linePaused",{n:c.recipients,done}):
of.status==="scheduled"?i18n$t("report.line.scheduled",{time:format$clock(of.scheduled_at)}):of.status==="canceled"?i18n$t("report.line.canceled",{n:c.recipients,
done:c.recipients-c.canceled}):i18n$t(`report.line.${of.status}`,{n,done}),line=of.status==="sent"&&c.delivered&&c.opened?i18n$t("report.openedLine",{line:words,
rate:format$percent(c.opened/c.delivered,0)}):words,unheard=Math.max(0,c.sent-c.delivered-c.bounced),from=lib_core$html`<span class="mono">${format$mailbox(of.from).
address}</span>`,at=of.sent_at&&lib_core$html`<time datetime=${of.sent_at} title=${format$exact(of.sent_at)}>${format$clock(of.sent_at)}</time>`,fix=of.status===
"scheduled"?i18n$t("report.fixScheduled",{n:c.recipients}):of.status==="canceled"?i18n$t("report.fixCanceled",{n:c.canceled}):of.paused_at?i18n$t("report.fixPau\
sed",{n:c.remaining}):of.status==="queued"?of.finishes_at?i18n$t("report.fixQueued",{n:c.remaining,time:format$clock(of.finishes_at)}):i18n$t("report.fixWait",{
n:c.remaining}):i18n$say("report.fixSent",{time:at??"–",from,n:unheard});return lib_core$html`<${ui_base$Verdict} kind=${of.status==="canceled"?"warn":of.status===
"sent"?"good":"neutral"} line=${line} fix=${fix} icon=${of.paused_at?"st-resting":{scheduled:"st-scheduled",queued:"st-sent",canceled:"st-canceled"}[of.status]} />
	${of.status==="queued"&&lib_core$html`<div class="section-line"><${ui_chart$Meter} thick part=${c.recipients?done/c.recipients:0} label=${i18n$t("broadcasts.pr\
ogress",{done,n:c.recipients})} /></div>`}`}var lines={bounced:[.04,.05],complained:[5e-4,.001]};function Funnel({counts}){let row=(name,of,part=of?counts[name]/
of:0)=>{let limit=lines[name],enforced=state$me.value.guardrails==="enforce",top=limit?limit[1]*1.2:1,digits=part===1||!part?0:part<.001?3:2,width=`${100*Math.min(
1,part/top)}%`;return lib_core$html`<span class="ink2">${i18n$t(`report.${name}`)}</span><svg role="img" aria-label=${`${i18n$t(`report.${name}`)}: ${format$number(
counts[name])}, ${format$percent(part,digits)}`}><rect class="meter-ground" y="4" width="100%" height="8" rx="2" /><rect class="meter-fill" y="4" width=${width} height="8" rx="2" />${limit?.
slice(0,enforced?2:1).map(l=>lib_core$html`<line class="scale-line" x1=${`${100*l/top}%`} x2=${`${100*l/top}%`} y1="0" y2="16" />`)}</svg><span class="num medium">${format$number(
counts[name])}</span><span class="num muted">${of?format$percent(part,digits):"–"}</span>
		${limit&&lib_core$html`<span class="funnel-note">${i18n$t(enforced?"report.scale":"report.warnScale",{top:format$percent(top,limit[1]<.01?2:0),slow:format$percent(
limit[0],limit[1]<.01?2:0),stop:format$percent(limit[1],limit[1]<.01?1:0)})}</span>`}${name==="opened"&&lib_core$html`<span class="funnel-note">${i18n$t("report\
.ofDelivered")}</span>`}`};return lib_core$html`<div class="funnel">${row("sent",counts.recipients)}${row("delivered",counts.sent)}${row("opened",counts.delivered)}${row(
"clicked",counts.delivered)}${row("bounced",counts.sent)}${row("complained",counts.delivered)}${row("unsubscribed",counts.delivered)}${counts.suppressed>0&&row(
"suppressed",counts.recipients)}${counts.failed>0&&row("failed",counts.recipients)}${counts.canceled>0&&row("canceled",counts.recipients)}</div>`}function Summary({
of}){return lib_core$html`<div class="page"><div class="cols"><div><${ui_base$Section} title=${i18n$t("report.became")}><${Funnel} counts=${of.counts} />${!of.counts.
opened&&!of.counts.clicked&&lib_core$html`<p class="t12 muted">${i18n$t("report.notSeen")}</p>`}<//>
	<${ByLanguage} of=${of} /><${People} of=${of} limit=${6} short /></div>
	<${ui_base$Section} title=${i18n$t("report.where")}><${Shares} of=${of} />${of.attachments?.length>0&&lib_core$html`<p class="t13r ink2 break">${i18n$t("email.\
tabs.attachments")}: <bdi>${of.attachments.map(file=>`${file.filename} (${format$size(file.size)})`).join(", ")}</bdi></p>`}<div class="gap"><${ui_frame$Paper} of=${paths$encoded`/broadcasts/${of.
id}/preview`} body=${{clicks:!0}} stamp=${`${of.id} ${of.counts.clicked}`} /></div><//></div></div>`}function ByLanguage({of}){if(!of.languages?.length)return null;
let rate=(n,all)=>all?format$percent(n/all,0):"–";return lib_core$html`<${ui_base$Section} title=${i18n$t("languages.title")}><table class="table"><caption class="vh">${i18n$t(
"languages.title")}</caption><thead><tr><th scope="col">${i18n$t("languages.one")}</th>${["recipients","delivered","opened","clicked"].map(name=>lib_core$html`<th scope="col" class="num">${i18n$t(
name==="recipients"?"broadcasts.people":`report.${name}`)}</th>`)}</tr></thead><tbody>
	${of.languages.map(row=>lib_core$html`<tr><td>${row.language?language_names$languageName(row.language):i18n$t("languages.default")}</td><td class="num">${format$number(
row.recipients)}</td><td class="num">${format$number(row.delivered)}</td><td class="num">${rate(row.opened,row.delivered)}</td><td class="num">${rate(row.clicked,
row.delivered)}</td></tr>`)}</tbody></table><//>`}function useLinks(of){let list=api$useList(paths$encoded`/broadcasts/${of.id}/clicked-links`,{},{limit:50,live:e=>e.
name==="broadcast"&&e.id===of.id}),all=list.rows.reduce((sum,row)=>sum+row.clicks,0);return{list,all}}function Shares({of}){let{list,all}=useLinks(of);return list.
rows.length?lib_core$html`<p class="muted t12">${i18n$t("report.whereNote")}</p><div class="funnel shares">${list.rows.slice(0,10).map(row=>lib_core$html`<span class="share-name cut" title=${row.
url}><bdi>${row.url.replace(/^https?:\/\//,"")}</bdi></span><svg role="img" aria-label=${`${row.url}: ${format$percent(row.clicks/all)}`}><rect class="meter-ground" y="4" width="100%" height="8" rx="2" /><rect class="meter-fill" y="4" width=${`${100*
row.clicks/all}%`} height="8" rx="2" /></svg><span class="num medium">${format$number(row.clicks)}</span><span class="num muted">${format$percent(row.clicks/all,
0)}</span>`)}</div>`:lib_core$html`<p class="muted t13r">${list.loading?"":i18n$t("report.noLinksText")}</p>`}function Links({of}){let{list,all}=useLinks(of);return lib_core$html`<${ui_list$Table} list=${list} label=${i18n$t(
"report.links")} empty=${lib_core$html`<${ui_base$Empty} icon="link" title=${i18n$t("report.noLinks")}>${i18n$t("report.noLinksText")}<//>`} columns=${[{name:i18n$t(
"report.link"),class:"cell-name cell-cut",cell:row=>lib_core$html`<bdi class="mono" title=${row.url}>${row.url}</bdi><span class="cell-sub">${format$number(row.
unique_clicks)}, ${format$percent(row.clicks/all,0)}</span>`},{name:i18n$t("report.uniqueClicks"),class:"w-rate num hide-s",cell:row=>format$number(row.unique_clicks)},
{name:i18n$t("report.clicks"),class:"w-rate num",cell:row=>format$number(row.clicks)},{name:i18n$t("report.share"),class:"w-rate num hide-s",cell:row=>format$percent(
row.clicks/all)}]} />`}function OverTime({of}){let zone=Intl.DateTimeFormat().resolvedOptions().timeZone,from=lib_core$useMemo(()=>new Date(of.scheduled_at&&of.
status!=="scheduled"?of.scheduled_at:of.created_at),[of.id]),until=lib_core$useMemo(()=>new Date(Math.min(Date.now(),(of.sent_at?new Date(of.sent_at):new Date).
getTime()+3*864e5)),[of.sent_at]),hours=(until.getTime()-from.getTime())/36e5,{data,error,reload}=api$useGet("/emails/metrics",{broadcast_id:of.id,dimensions:"p\
eriod",granularity:hours>96?"daily":"hourly",timezone:zone,start_date:new Date(from.getTime()-from.getTime()%36e5).toISOString(),end_date:until.toISOString()});
if(error)return lib_core$html`<${ui_base$Failed} error=${error} retry=${reload} />`;if(!data)return lib_core$html`<${ui_base$Bones} />`;if(!data.data.some(row=>row.
sent||row.delivered||row.opened||row.clicked))return lib_core$html`<${ui_base$Empty} icon="overview" title=${i18n$t("report.noTime")} />`;let every=Math.ceil(data.
data.length/8),chart=name=>lib_core$html`<${ui_base$Section} title=${i18n$t(`report.${name}`)}><${ui_chart$Bars} label=${i18n$t(`report.${name}`)} show=${v=>format$number(
v)} bars=${data.data.map((row,i)=>({name:format$clock(row.period),axis:i%every?void 0:format$clock(row.period),value:row[name]}))} /><//>`;return lib_core$html`<div class="page">${[
"sent","delivered","opened","clicked"].filter(name=>name==="sent"||data.data.some(row=>row[name])).map(chart)}</div>`}export{Report as default};
