import{lib_core$Fragment,lib_core$batch,lib_core$cloneElement,lib_core$computed,lib_core$createContext,lib_core$effect,lib_core$h,lib_core$html,lib_core$render,
lib_core$signal,lib_core$untracked,lib_core$useCallback,lib_core$useComputed,lib_core$useContext,lib_core$useEffect,lib_core$useId,lib_core$useLayoutEffect,lib_core$useMemo,
lib_core$useReducer,lib_core$useRef,lib_core$useSignal,lib_core$useSignalEffect,lib_core$useState}from"./app.js";import{api$ApiError,api$address,api$api,api$forget,api$proof,api$request,api$silent,api$useGet,api$useList}from"./app.js";import{composer_checks$Checks,composer_checks$Penalties,composer_checks$Tags,composer_checks$testMail}from"./shared.js";import{format$ago,format$clock,format$day,format$duration,format$exact,format$gap,format$mailbox,format$number,format$percent,format$relative,format$seconds,format$short,
format$size,format$stamp}from"./app.js";import{i18n$find,i18n$language,i18n$languages,i18n$preferred,i18n$say,i18n$speak,i18n$t}from"./app.js";import{paths$domainIn,paths$encoded,paths$fileAt,paths$idOf,paths$isId,paths$isPath,paths$ownDomain}from"./app.js";import{plan$usePost}from"./shared.js";import{router$base,router$go,router$href,router$match,router$place,router$setQuery,router$start}from"./app.js";import{ui_base$Bones,ui_base$Button,ui_base$Check,ui_base$Code,ui_base$Copy,ui_base$CopyButton,ui_base$Empty,ui_base$Facts,ui_base$Failed,ui_base$Field,ui_base$Head,
ui_base$Icon,ui_base$Id,ui_base$Input,ui_base$Notice,ui_base$Section,ui_base$Sections,ui_base$Seg,ui_base$Select,ui_base$Status,ui_base$Tabs,ui_base$Time,ui_base$Verdict,
ui_base$copy,ui_base$dialogs,ui_base$useEscape}from"./app.js";import{ui_chart$Bars,ui_chart$Legend,ui_chart$Meter,ui_chart$Scale,ui_chart$Spark,ui_chart$few,ui_chart$scaleOf}from"./app.js";import{ui_float$DialogBody,ui_float$Dialogs,ui_float$Menu,ui_float$Toasts,ui_float$attempt,ui_float$confirm,ui_float$dialog,ui_float$toast,ui_float$useAsked}from"./app.js";import{ui_frame$Paper}from"./app.js";function Review({params}){let{id}=params,{data,error,reload}=api$useGet(paths$encoded`/broadcasts/${id}`),[later,setLater]=lib_core$useState(!1),[at,setAt]=lib_core$useState(
soon),when=later&&at?new Date(at).toISOString():void 0,plan=plan$usePost(paths$encoded`/broadcasts/${id}/plan`,when?{scheduled_at:when}:void 0),read=plan$usePost(
paths$encoded`/broadcasts/${id}/preview`,void 0),found=plan$usePost(paths$encoded`/broadcasts/${id}/inspect`,void 0),head=lib_core$html`<${ui_base$Head} title=${i18n$t(
"review.title")} text=${data?`${i18n$t("review.title")}: ${data.name}`:i18n$t("review.title")} path=${[[i18n$t("broadcasts.title"),`${router$base}/broadcasts`],
[data?.name??"…",router$base+paths$encoded`/broadcasts/${id}`]]}><${ui_base$Button} href=${router$base+paths$encoded`/broadcasts/${id}`}>${i18n$t("review.back")}<//><//>`;
return lib_core$useEffect(()=>{data&&data.status!=="draft"&&router$go(paths$encoded`/broadcasts/${id}/report`,{replace:!0})},[data?.status]),error&&!data?lib_core$html`${head}<${ui_base$Failed} error=${error} retry=${reload} />`:
data?lib_core$html`${head}
	${plan.error&&lib_core$html`<${ui_base$Notice} kind="bad" act=${lib_core$html`<${ui_base$Button} icon="refresh" onClick=${plan.reload}>${i18n$t("ui.again")}<//>`}>${i18n$t(
"review.refused")}: ${plan.error.message}<//>`}
	<div class="page"><div class="cols"><div><${Who} of=${data} plan=${plan.data} /><${Checked} plan=${plan.data} read=${read} found=${found.data} /></div>
	<div><${When} plan=${plan.data} /><${Send} of=${data} plan=${plan.data} later=${later} setLater=${setLater} at=${at} setAt=${setAt} when=${when} /></div></div>
	<${ui_base$Section} title=${i18n$t("review.preview")}><${ui_base$Facts} pairs=${[[i18n$t("review.from"),lib_core$html`<bdi>${data.from}</bdi>`],[i18n$t("review\
.subject"),lib_core$html`<bdi>${read.data?.subject??data.subject}</bdi>`],[i18n$t("composer.preview_text"),read.data?.preview_text&&lib_core$html`<bdi>${read.data.
preview_text}</bdi>`],[i18n$t("email.tabs.attachments"),data.attachments.length>0&&lib_core$html`<bdi>${data.attachments.map(file=>file.filename).join(", ")}</bdi>`],
[i18n$t("email.size"),data.attachments.length>0&&plan.data&&format$size(plan.data.size)]]} /><div class="gap"><${ui_frame$Paper} of=${paths$encoded`/broadcasts/${id}/preview`} stamp=${id} /></div><//></div>`:
lib_core$html`${head}<${ui_base$Bones} />`}function soon(){let d=new Date(Date.now()+36e5);return d.setMinutes(0,0,0),new Date(d.getTime()-d.getTimezoneOffset()*
6e4).toISOString().slice(0,16)}function Who({of,plan}){let segment=api$useGet(of.segment_id?paths$encoded`/segments/${of.segment_id}`:null).data,topic=api$useGet(
of.topic_id?paths$encoded`/topics/${of.topic_id}`:null).data;if(!plan)return lib_core$html`<${ui_base$Section} title=${i18n$t("review.who")}><${ui_base$Bones} rows=${4} /><//>`;
let out=plan.left_out,all=plan.recipients+out.unsubscribed+out.suppressed+out.topic,by=Object.entries(out.suppressed_by),line=(word,n)=>n>0&&lib_core$html`<tr><td class="ink2">${word}</td><td class="num ink2">−${format$number(
n)}</td></tr>`;return lib_core$html`<${ui_base$Section} title=${i18n$t("review.who")}><p class="t28">${i18n$t("review.people",{n:plan.recipients})}</p>
	<table class="table sum"><thead class="vh"><tr><th>${i18n$t("review.part")}</th><th>${i18n$t("broadcasts.people")}</th></tr></thead><tbody>
	<tr><td>${of.segment_id?i18n$say("review.inSegment",{name:lib_core$html`<a class="link" href=${router$base+paths$encoded`/segments/${of.segment_id}`}><bdi>${segment?.
name??"…"}</bdi></a>`}):i18n$t("review.inAll")}</td><td class="num">${format$number(all)}</td></tr>
	${line(i18n$t("review.unsubscribed"),out.unsubscribed)}${line(i18n$t("review.topic",{name:topic?.name??"…"}),out.topic)}${by.map(([origin,n])=>line(i18n$t(`r\
eview.suppressedBy.${origin}`),n))}
	<tr class="is-total"><td>${i18n$t("review.willBe")}</td><td class="num">${format$number(plan.recipients)}</td></tr></tbody></table>
	${!plan.recipients&&lib_core$html`<${ui_base$Notice} kind="warn">${i18n$t("review.nobody")}<//>`}<//>`}var cutAt=102e3;function leftovers(mail){let links=[...(mail.
html??mail.text).matchAll(/<a\b[^>]*?\shref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))/gi)].map(m=>(m[1]??m[2]??m[3]).replaceAll("&amp;","&").trim()),own=[...new Set(
links)].filter(link=>/^https?:/i.test(link)),found=[];for(let link of new Set(links))/\{\{|\}\}|%7B%7B|\*\||\[\[|%%\w+%%|<%|\$\{/i.test(link)?found.push(i18n$t(
"review.leftoverLink",{url:link})):(link===""||link==="#"||/^https?:\/\/(localhost|example\.(com|org|net)|(www\.)?yourdomain|your-?site|TODO)\b/i.test(link))&&found.
push(i18n$t("review.dummyLink",{url:link||'""'}));return{found,links:own}}var inspected=found=>[...found.missing.map(({name,recipients})=>i18n$t("review.missing\
For",{name:name.replace(/^contact\./,""),n:recipients})),...found.removed_links?[i18n$t("review.removedLinks",{n:found.removed_links})]:[],...found.render_limit?
[i18n$t("review.renderLimit",{n:found.render_limit})]:[]];function Checked({plan,read,found}){let seen=lib_core$useMemo(()=>read.data&&leftovers(read.data),[read.
data]),fine=words=>lib_core$html`<li><${ui_base$Icon} name="check" class="good" /><span class="grow break">${words}</span></li>`,off=words=>lib_core$html`<li><${ui_base$Icon} name="alert" class="warn" /><span class="grow break">${words}</span></li>`,
bytes=read.data?new Blob([read.data.html??read.data.text]).size:0,tags=plan?.unfilled_tags??[],lines=found&&inspected(found),more=seen&&lib_core$html`<${composer_checks$Tags} tags=${tags} />${seen.
found.map(off)}${lines?.length?lib_core$html`${lines.map(off)}${!found.complete&&lib_core$html`<li><${ui_base$Icon} name="info" /><span class="grow break">${i18n$t(
"review.inspected",{n:found.inspected})}</span></li>`}`:read.data.missing.length&&!lines?off(i18n$t("review.leftover",{n:read.data.missing.length,names:read.data.
missing.join(", ")})):!seen.found.length&&!tags.length&&fine(i18n$t("review.noLeftover"))}
	${seen.links.length?fine(i18n$t("review.linksFine",{n:seen.links.length})):off(i18n$t("review.noLinks"))}
	${/unsubscribe/i.test(read.data.html??read.data.text)?fine(i18n$t("review.unsubscribe")):off(i18n$t("review.noUnsubscribe"))}
	${bytes<cutAt?fine(i18n$t("review.size",{size:format$size(bytes)})):off(i18n$t("review.sizeOver",{size:format$size(bytes)}))}`;return lib_core$html`<${ui_base$Section} title=${i18n$t(
"review.checks")} acts=${plan&&lib_core$html`<span class="t13r"><span class="medium">${format$number(plan.score.score)}</span> <span class="muted">${i18n$t(`ban\
ds.${plan.score.band}`)}</span></span>`}>
	${read.error?lib_core$html`<${ui_base$Failed} error=${read.error} retry=${read.reload} />`:plan||seen?lib_core$html`<${composer_checks$Penalties} score=${plan?.
score??{penalties:[]}} more=${more} />`:lib_core$html`<${ui_base$Bones} rows=${4} />`}<//>`}function When({plan}){if(!plan)return null;let{waves}=plan,done=plan.
finishes_at&&lib_core$html`<time datetime=${plan.finishes_at} title=${format$exact(plan.finishes_at)}>${format$clock(plan.finishes_at)}</time>`;return lib_core$html`<${ui_base$Section} title=${i18n$t(
"review.plan")} acts=${waves.length>0&&lib_core$html`<span class="t13r ink2">${done?i18n$say("review.waves",{n:waves.length,time:done}):i18n$t("review.wavesOpen",
{n:waves.length})}</span>`}>
	${waves.length?lib_core$html`<${ui_chart$Bars} label=${i18n$t("review.wave")} show=${v=>format$number(v)} bars=${waves.map(w=>({name:format$clock(w.at),axis:waves.
length<=6?format$clock(w.at):void 0,value:w.count,word:waves.length<=8?format$number(w.count):void 0}))} />`:lib_core$html`<p class="muted">${i18n$t("review.noP\
lan")}</p>`}
	${plan.warning&&lib_core$html`<p class="t13r ink2 prose">${plan.warning.message}</p>`}<//>`}var undoTime="in 5 seconds";function Send({of,plan,later,setLater,at,
setAt,when}){let[once]=lib_core$useState(()=>crypto.randomUUID()),[wrong,setWrong]=lib_core$useState(""),send=async()=>{try{await api$api.post(paths$encoded`/broadcasts/${of.
id}/send`,{scheduled_at:when??undoTime},{headers:{"Idempotency-Key":once+(when??"")}}),when&&ui_float$toast(i18n$t("review.scheduled")),router$go(paths$encoded`/broadcasts/${of.
id}/report`,{replace:!0})}catch(e){if(!(e instanceof api$ApiError))throw e;setWrong(e.message)}},n=plan?.recipients??0,refused=plan?.unfilled_tags.some(tag=>tag.
refused);return lib_core$html`<${ui_base$Section} title=${i18n$t("review.send")}><form class="stack" onSubmit=${e=>e.preventDefault()}><fieldset class="row row--wrap row--wide"><legend class="vh">${i18n$t(
"review.when")}</legend>
		<${ui_base$Check} kind="radio" name="when" checked=${!later} onChange=${()=>setLater(!1)} label=${i18n$t("review.now")} /><${ui_base$Check} kind="radio" name="when" checked=${later} onChange=${()=>setLater(
!0)} label=${i18n$t("review.later")} /></fieldset>
		${later&&lib_core$html`<${ui_base$Input} type="datetime-local" label=${i18n$t("review.at")} hint=${i18n$t("review.atHint",{zone:Intl.DateTimeFormat().resolvedOptions().
timeZone})} value=${at} onInput=${setAt} />`}
		${wrong&&lib_core$html`<${ui_base$Notice} kind="bad">${wrong}<//>`}
		<div class="row row--wrap"><${ui_base$Button} kind="primary big" icon="send" disabled=${!n||refused} onClick=${send}>${i18n$t(later?"review.scheduleTo":"revie\
w.sendTo",{n})}<//><span class="t12 muted">${i18n$t("review.stop")}</span></div></form><//>`}export{Review as default,leftovers};
