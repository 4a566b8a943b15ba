import{lib_core$Fragment,lib_core$batch,lib_core$cloneElement,lib_core$computed,lib_core$createContext,lib_core$effect,lib_core$h,lib_core$html,lib_core$render,
lib_core$signal,lib_core$untracked,lib_core$useCallback,lib_core$useComputed,lib_core$useContext,lib_core$useEffect,lib_core$useId,lib_core$useLayoutEffect,lib_core$useMemo,
lib_core$useReducer,lib_core$useRef,lib_core$useSignal,lib_core$useSignalEffect,lib_core$useState}from"./app.js";import{api$ApiError,api$address,api$api,api$forget,api$proof,api$request,api$silent,api$useGet,api$useList}from"./app.js";import{i18n$find,i18n$language,i18n$languages,i18n$preferred,i18n$say,i18n$speak,i18n$t}from"./app.js";import{paths$domainIn,paths$encoded,paths$fileAt,paths$idOf,paths$isId,paths$isPath,paths$ownDomain}from"./app.js";import{router$base,router$go,router$href,router$match,router$place,router$setQuery,router$start}from"./app.js";import{state$choose,state$mayAdmin,state$me,state$membership,state$signedIn,state$signedOut,state$stillSignedIn,state$team}from"./app.js";import{ui_base$Bones,ui_base$Button,ui_base$Check,ui_base$Code,ui_base$Copy,ui_base$CopyButton,ui_base$Empty,ui_base$Facts,ui_base$Failed,ui_base$Field,ui_base$Head,
ui_base$Icon,ui_base$Id,ui_base$Input,ui_base$Notice,ui_base$Section,ui_base$Sections,ui_base$Seg,ui_base$Select,ui_base$Status,ui_base$Tabs,ui_base$Time,ui_base$Verdict,
ui_base$copy,ui_base$dialogs,ui_base$useEscape}from"./app.js";import{ui_float$DialogBody,ui_float$Dialogs,ui_float$Menu,ui_float$Toasts,ui_float$attempt,ui_float$confirm,ui_float$dialog,ui_float$toast,ui_float$useAsked}from"./app.js";import{ui_list$Bulk,ui_list$Csv,ui_list$Foot,ui_list$Table,ui_list$address}from"./app.js";import{webhook_parts$Events,webhook_parts$groups,webhook_parts$keepSecret}from"./shared.js";var refused=(e,say)=>{if(!(e instanceof api$ApiError))throw e;say(e.message)},Acts=({close,act,disabled})=>lib_core$html`<${ui_base$Button} kind="quiet" onClick=${()=>close()}>${i18n$t(
"ui.cancel")}<//><${ui_base$Button} type="submit" kind="primary" disabled=${disabled}>${act}<//>`;function EditWebhook({close,of}){let[endpoint,setEndpoint]=lib_core$useState(
of.endpoint),[events,setEvents]=lib_core$useState(of.events),[wrong,say]=lib_core$useState(""),send=()=>api$api.patch(paths$encoded`/webhooks/${of.id}`,{endpoint:endpoint.
trim(),events}).then(close,e=>refused(e,say));return lib_core$html`<${ui_float$DialogBody} title=${i18n$t("webhook.edit")} onSubmit=${send} acts=${lib_core$html`<${Acts} close=${close} act=${i18n$t(
"ui.save")} disabled=${!events.length} />`}>
		${wrong&&lib_core$html`<${ui_base$Notice} kind="bad">${wrong}<//>`}
		<${ui_base$Input} label=${i18n$t("webhooks.endpoint")} type="url" value=${endpoint} onInput=${setEndpoint} required autofocus />
		<${webhook_parts$Events} value=${events} onChange=${setEvents} /><//>`}function TestEvent({close,of}){let sent=of.events.filter(name=>!of.events_not_sent?.includes(
name)),[event,setEvent]=lib_core$useState(sent[0]),[got,setGot]=lib_core$useState(null),[wrong,say]=lib_core$useState(""),[busy,setBusy]=lib_core$useState(!1),send=async()=>{
setBusy(!0),say(""),await api$api.post(paths$encoded`/webhooks/${of.id}/test`,{event}).then(setGot,e=>refused(e,say)),setBusy(!1)};return lib_core$html`<${ui_float$DialogBody} title=${i18n$t(
"webhook.test")} onSubmit=${send} acts=${lib_core$html`<${ui_base$Button} kind="quiet" onClick=${()=>close()}>${i18n$t("ui.close")}<//><${ui_base$Button} type="submit" kind="primary" icon=${busy?
void 0:"send"} disabled=${busy}>${i18n$t(busy?"webhook.sending":"webhook.send")}<//>`}>
		<p>${i18n$t("webhook.testText")}</p>
		<${ui_base$Select} label=${i18n$t("webhook.event")} value=${event} onChange=${setEvent} options=${sent.map(e=>[e,e])} />
		${wrong&&lib_core$html`<${ui_base$Notice} kind="bad">${wrong}<//>`}
		${got&&lib_core$html`<${ui_base$Notice} kind=${got.ok?"good":"bad"}>${got.status?i18n$t(got.ok?"webhook.testOk":"webhook.testBad",{status:String(got.status),ms:got.
ms}):i18n$t("webhook.testNone",{ms:got.ms})}<//>${got.response&&lib_core$html`<${ui_base$Code} name=${i18n$t("webhook.body")} code=${got.response} />`}`}<//>`}function Replay({
close,of}){let[what,setWhat]=lib_core$useState("failed"),[since,setSince]=lib_core$useState(new Date(Date.now()-864e5-new Date().getTimezoneOffset()*6e4).toISOString().
slice(0,16)),[wrong,say]=lib_core$useState(""),send=async()=>{try{let body=what==="failed"?{failed:!0}:{since:new Date(since).toISOString()},queued=0;for(let after;;){
let part=await api$api.post(paths$encoded`/webhooks/${of.id}/replay`,{...body,after});if(queued+=part.queued,!part.has_more||!part.searched_to)break;after=part.
searched_to}ui_float$toast(i18n$t(queued?"webhook.replaying":"webhook.replayNone",{n:queued}),{kind:queued?"good":"info"}),close(queued>0)}catch(e){refused(e,say)}};
return lib_core$html`<${ui_float$DialogBody} title=${i18n$t("webhook.replayMany")} onSubmit=${send} acts=${lib_core$html`<${Acts} close=${close} act=${i18n$t("w\
ebhook.replayAct")} />`}>
		<p>${i18n$t("webhook.replayText")}</p>
		${wrong&&lib_core$html`<${ui_base$Notice} kind="bad">${wrong}<//>`}
		<div><${ui_base$Check} kind="radio" name="what" label=${i18n$t("webhook.replayFailed")} checked=${what==="failed"} onChange=${()=>setWhat("failed")} /></div>
		<div><${ui_base$Check} kind="radio" name="what" label=${i18n$t("webhook.replaySince")} checked=${what==="since"} onChange=${()=>setWhat("since")} /></div>
		${what==="since"&&lib_core$html`<${ui_base$Input} label=${i18n$t("webhook.since")} type="datetime-local" value=${since} onInput=${setSince} required />`}<//>`}
function RotateSecret({close,of}){let[hours,setHours]=lib_core$useState("24"),[wrong,say]=lib_core$useState(""),send=()=>api$api.post(paths$encoded`/webhooks/${of.
id}/signing-secret/rotate`,{overlap_hours:Number(hours)}).then(done=>close(done.signing_secret),e=>refused(e,say));return lib_core$html`<${ui_float$DialogBody} title=${i18n$t(
"webhook.rotate")} onSubmit=${send} acts=${lib_core$html`<${Acts} close=${close} act=${i18n$t("webhook.rotateAct")} />`}>
		<p>${i18n$t("webhook.rotateText")}</p>
		${wrong&&lib_core$html`<${ui_base$Notice} kind="bad">${wrong}<//>`}
		<${ui_base$Select} label=${i18n$t("webhook.overlap")} value=${hours} onChange=${setHours} options=${["0","1","24","72"].map(h=>[h,h==="0"?i18n$t("webhook.atOn\
ce"):i18n$t("webhook.hours",{n:Number(h)})])} /><//>`}import{format$ago,format$clock,format$day,format$duration,format$exact,format$gap,format$mailbox,format$number,format$percent,format$relative,format$seconds,format$short,
format$size,format$stamp}from"./app.js";var shapes={success:"ok",pending:"neutral",failed:"bad",attempting:"neutral"},Outcome=({of})=>lib_core$html`<${ui_base$Status} of=${shapes[of]??"neutral"} word=${i18n$t(
`webhook.is_${of}`)} />`,Answered=({of})=>of===null?lib_core$html`<span class="muted">–</span>`:lib_core$html`<${ui_base$Status} of=${of>=200&&of<300?"ok":"ba\
d"} word=${of?String(of):i18n$t("webhook.noAnswer")} />`;function Delivery({hook,id}){let path=paths$encoded`/webhooks/${hook.id}/events/${id}`,got=api$useGet(path,
void 0,{every:5}),tries=api$useGet(`${path}/attempts`,{limit:100},{every:5}),crumbs2=[[i18n$t("webhooks.title"),`${router$base}/webhooks`],[hook.endpoint,router$base+
paths$encoded`/webhooks/${hook.id}`]],event=got.data;if(got.error&&!event)return lib_core$html`<${ui_base$Head} path=${crumbs2} title=${i18n$t("webhook.event")} /><${ui_base$Failed} error=${got.
error} retry=${got.reload} />`;if(!event)return lib_core$html`<${ui_base$Head} path=${crumbs2} title="…" text=${i18n$t("webhook.event")} /><${ui_base$Bones} />`;
let replay=()=>ui_float$attempt(async()=>{await api$api.post(`${path}/replay`),await Promise.all([got.reload(),tries.reload()])},i18n$t("webhook.replayed")),email=event.
payload?.data?.email_id;return lib_core$html`<${ui_base$Head} path=${crumbs2} title=${event.type}>${state$mayAdmin.value&&lib_core$html`<${ui_base$Button} icon="refresh" onClick=${replay}>${i18n$t(
"webhook.replay")}<//>`}<//>
	<div class="page"><${ui_base$Section} title=${i18n$t("webhook.delivery")}><${ui_base$Facts} pairs=${[[i18n$t("webhook.outcome"),lib_core$html`<${Outcome} of=${event.
status} />`],[i18n$t("webhook.when"),lib_core$html`<${ui_base$Time} at=${event.created_at} />`],[i18n$t("webhook.next"),event.next_attempt_at&&lib_core$html`<${ui_base$Time} at=${event.
next_attempt_at} />`],[i18n$t("webhook.id"),lib_core$html`<${ui_base$Copy} text=${event.id} />`],[i18n$t("webhook.email"),email&&lib_core$html`<a class="link" href=${router$base+
paths$encoded`/emails/${email}`}>${email}</a>`]]} /><//>
	<${ui_base$Section} title=${i18n$t("webhook.attempts")}>${tries.data?.data.length?lib_core$html`<table class="table table--top stack-s"><thead><tr><th scope="col" class="w-status">${i18n$t(
"webhook.answer")}</th><th scope="col">${i18n$t("webhook.body")}</th><th scope="col" class="num">${i18n$t("webhook.sent")}</th></tr></thead><tbody>${tries.data.
data.map(a=>lib_core$html`<tr key=${a.id}><td data-label=${i18n$t("webhook.answer")}><${Answered} of=${a.http_status_code} /></td><td class="break" data-label=${i18n$t(
"webhook.body")}>${a.response?lib_core$html`<code>${a.response}</code>`:lib_core$html`<span class="muted">${i18n$t("webhook.emptyBody")}</span>`}</td><td class="num muted" data-label=${i18n$t(
"webhook.sent")}><span title=${format$exact(a.sent_at)}><${ui_base$Time} at=${a.sent_at} /></span></td></tr>`)}</tbody></table>`:lib_core$html`<p class="muted t13r">${i18n$t(
"webhook.noAttempts")}</p>`}<//>
	<${ui_base$Section} title=${i18n$t("webhook.request")}><${ui_base$Code} name=${`POST ${hook.endpoint}`} code=${JSON.stringify(event.payload,null,2)} /><//></div>`}var crumbs=()=>[[i18n$t("webhooks.title"),`${router$base}/webhooks`]];function verdict(hook,told){return hook.status==="disabled"?{kind:hook.failing_since?"bad":
"neutral",line:i18n$t(hook.failing_since?"webhook.stopped":"webhook.disabled"),fix:i18n$t("webhook.disabledFix")}:hook.failing_since?{kind:"bad",line:i18n$say("\
webhook.failing",{time:lib_core$html`<${ui_base$Time} at=${hook.failing_since} />`}),fix:i18n$t("webhook.failingFix")}:told?{kind:"good",line:i18n$t("webhook.go\
od"),fix:null}:{kind:"neutral",line:i18n$t("webhook.idle"),fix:i18n$t("webhook.idleFix")}}function Webhook({params}){let path=paths$encoded`/webhooks/${params.id}`,
got=api$useGet(path,void 0,{every:30}),named=router$place.value.query.get("event"),event=paths$isId(named)?named:null,hook=got.data;return got.error&&!hook?lib_core$html`<${ui_base$Head} path=${crumbs()} title=${i18n$t(
"webhook.one")} /><${ui_base$Failed} error=${got.error} retry=${got.reload} />`:hook?event?lib_core$html`<${Delivery} hook=${hook} id=${event} />`:lib_core$html`<${Overview} hook=${hook} got=${got} path=${path} />`:
lib_core$html`<${ui_base$Head} path=${crumbs()} title="…" text=${i18n$t("webhooks.title")} /><${ui_base$Bones} />`}function Overview({hook,got,path}){let list=api$useList(
`${path}/events`),waits=list.rows.some(e=>e.status==="pending"||e.status==="attempting");lib_core$useEffect(()=>{if(!waits||list.rows.length>50)return;let every=setInterval(
()=>document.hidden||list.reload(),5e3);return()=>clearInterval(every)},[waits,list.rows.length>50]);let patch=async body=>got.set({...hook,...await api$api.patch(
path,body)}),turn=status=>ui_float$attempt(async()=>{let before=hook.status;await patch({status}),ui_float$toast(i18n$t(`webhook.now_${status}`),{undo:()=>ui_float$attempt(
()=>patch({status:before}))})}),edit=async()=>{let changed=await ui_float$dialog(close=>lib_core$html`<${EditWebhook} close=${close} of=${hook} />`);changed&&got.
set(changed)},rotate=async()=>{let secret=await ui_float$dialog(close=>lib_core$html`<${RotateSecret} close=${close} of=${hook} />`);secret&&await webhook_parts$keepSecret(
secret)},remove=()=>ui_float$attempt(async()=>{await ui_float$confirm({title:i18n$t("webhook.deleteTitle"),text:i18n$t("webhook.deleteText",{endpoint:hook.endpoint}),
act:i18n$t("webhook.deleteAct")})&&(await api$api.del(path),ui_float$toast(i18n$t("webhook.deleted")),router$go("/webhooks"))}),replay=async()=>{await ui_float$dialog(
close=>lib_core$html`<${Replay} close=${close} of=${hook} />`)&&await list.reload()},test=()=>ui_float$dialog(close=>lib_core$html`<${TestEvent} close=${close} of=${hook} />`),
says=verdict(hook,list.rows.some(e=>e.status==="success"));return lib_core$html`<${ui_base$Head} path=${crumbs()} title=${lib_core$html`<bdi>${hook.endpoint}</bdi>`} text=${hook.
endpoint}>
		<${ui_list$Csv} path=${`${path}/events`} name="deliveries" />
		${state$mayAdmin.value&&lib_core$html`<${ui_base$Button} icon="send" onClick=${test}>${i18n$t("webhook.test")}<//><${ui_float$Menu} label=${i18n$t("ui.acts")} items=${[
{icon:"edit",name:i18n$t("webhook.edit"),run:edit},{icon:"refresh",name:i18n$t("webhook.replayMany"),run:replay},{icon:"key",name:i18n$t("webhook.rotate"),run:rotate},
hook.status==="enabled"?{icon:"pause",name:i18n$t("webhook.disable"),run:()=>turn("disabled")}:{icon:"play",name:i18n$t("webhook.enable"),run:()=>turn("enabled")},
null,{icon:"trash",name:i18n$t("webhook.delete"),danger:!0,run:remove}]} />`}<//>
	<${ui_base$Verdict} kind=${says.kind} line=${says.line} fix=${says.fix} acts=${state$mayAdmin.value&&hook.status==="disabled"&&lib_core$html`<${ui_base$Button} icon="play" onClick=${()=>turn(
"enabled")}>${i18n$t("webhook.enable")}<//>`} />
	<div class="page page--text"><p class="t13r ink2 break">${i18n$t("webhook.isTold",{n:hook.events.length})} <span class="mono">${hook.events.join(", ")}</span></p></div>
	<${ui_list$Table} list=${list} label=${i18n$t("webhook.deliveries")} open=${row=>router$base+paths$encoded`/webhooks/${hook.id}?event=${row.id}`} empty=${lib_core$html`<${ui_base$Empty} icon="webhook" title=${i18n$t(
"webhook.none")} act=${state$mayAdmin.value&&lib_core$html`<${ui_base$Button} icon="send" onClick=${test}>${i18n$t("webhook.test")}<//>`}>${i18n$t("webhook.none\
Text")}<//>`} columns=${[{name:i18n$t("webhook.outcome"),class:"w-status hide-s",cell:row=>lib_core$html`<${Outcome} of=${row.status} />`},{name:i18n$t("webhook\
.event"),class:"cell-name cell-cut",cell:row=>lib_core$html`<a class="mono" href=${router$base+paths$encoded`/webhooks/${hook.id}?event=${row.id}`}>${row.type}</a><span class="cell-sub"><${Outcome} of=${row.
status} /></span>`},{name:i18n$t("webhook.answer"),class:"w-num",cell:row=>lib_core$html`<${Answered} of=${row.last_http_status_code} />`},{name:i18n$t("webhook\
.next"),class:"w-state drop-2 muted",cell:row=>lib_core$html`<${ui_base$Time} at=${row.next_attempt_at} />`},{name:i18n$t("webhook.when"),class:"w-age num muted",
cell:row=>lib_core$html`<${ui_base$Time} at=${row.created_at} />`}]} />`}export{Webhook as default};
