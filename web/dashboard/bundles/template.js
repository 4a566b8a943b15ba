import{lib_core$html,lib_core$useEffect,lib_core$useMemo,lib_core$useRef,lib_core$useState}from"./app.js";import{api$ApiError,api$api,api$useGet}from"./app.js";import{composer$Part,composer$Refused}from"./shared.js";import{composer_versions$Versions}from"./shared.js";import{convert$Convert}from"./shared.js";import{drafts$Left,drafts$Saved,drafts$useDraft}from"./app.js";import{i18n$t}from"./app.js";import{image_library$InsertImage,image_library$Weight}from"./shared.js";import{languages$Languages,languages$addLanguage,languages$inLanguage}from"./shared.js";import{paths$encoded}from"./app.js";import{router$base,router$go}from"./app.js";import{state$me}from"./app.js";import{ui_base$Bones,ui_base$Button,ui_base$Code,ui_base$Failed,ui_base$Head,ui_base$Input,ui_base$Notice,ui_base$Seg,ui_base$Status,ui_base$useEscape}from"./app.js";var languages=[["curl","curl"],["node","Node.js"],["python","Python"],["php","PHP"],["ruby","Ruby"],["go","Go"],["java","Java"]];function call(language,origin,body2){let json=JSON.stringify(body2,null,2),line=JSON.stringify(body2),url=`${origin}/emails`;switch(language){case"node":return`const answer = await fetch('${url}', {
  method: 'POST',
  headers: {
    Authorization: \`Bearer \${process.env.MAILER_KEY}\`,
    'Content-Type': 'application/json',
  },
  body: JSON.stringify(${json.replaceAll(`
`,`
  `)}),
});
console.log(await answer.json());
`;case"python":return`import json, os, urllib.request

body = json.loads(r"""
${json}
""")
request = urllib.request.Request(
    "${url}",
    data=json.dumps(body).encode(),
    headers={
        "Authorization": "Bearer " + os.environ["MAILER_KEY"],
        "Content-Type": "application/json",
        "User-Agent": "shop/1.0",
    },
)
print(json.load(urllib.request.urlopen(request)))
`;case"php":return`<?php
$body = <<<'JSON'
${json}
JSON;
$request = curl_init('${url}');
curl_setopt_array($request, [
    CURLOPT_RETURNTRANSFER => true,
    CURLOPT_POSTFIELDS => $body,
    CURLOPT_HTTPHEADER => [
        'Authorization: Bearer ' . getenv('MAILER_KEY'),
        'Content-Type: application/json',
    ],
]);
echo curl_exec($request);
`;case"ruby":return`require 'net/http'
require 'json'

body = JSON.parse(<<~'JSON')
${json.replace(/^/gm,"  ")}
JSON
answer = Net::HTTP.post(URI('${url}'), body.to_json,
  'Authorization' => "Bearer #{ENV['MAILER_KEY']}", 'Content-Type' => 'application/json')
puts answer.body
`;case"go":return`package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
)

func main() {
	request, err := http.NewRequest("POST", "${url}", strings.NewReader(${JSON.stringify(line)}))
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("MAILER_KEY"))
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	said, _ := io.ReadAll(answer.Body)
	fmt.Println(string(said))
}
`;case"java":return`import java.net.URI;
import java.net.http.*;

var request = HttpRequest.newBuilder(URI.create("${url}"))
    .header("Authorization", "Bearer " + System.getenv("MAILER_KEY"))
    .header("Content-Type", "application/json")
    .POST(HttpRequest.BodyPublishers.ofString(${JSON.stringify(line)}))
    .build();
var answer = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
System.out.println(answer.body());
`;default:return`curl ${url} \\
  -H "Authorization: Bearer $MAILER_KEY" \\
  -H 'Content-Type: application/json' \\
  --data-binary @- <<'JSON'
${json}
JSON
`}}function Call({of,published,values,close}){ui_base$useEscape(close);let[language,setLanguage]=lib_core$useState("curl"),domains=api$useGet("/domains",{limit:100}).data?.data??[],domain=(domains.find(d=>d.status==="verified")??domains[0])?.name??"example.com",variables=Object.fromEntries((of.variables??[]).filter(v=>v.key).map(v=>[v.key,values[v.key]??v.fallback_value??(v.type==="number"?1:"text")])),body2={...of.from?{}:{from:`Shop <hello@${domain}>`},to:["ann@example.net"],...of.subject?{}:{subject:"Hello"},template:{id:of.alias||of.id,...Object.keys(variables).length?{variables}:{}}};return lib_core$html`<section aria-label=${i18n$t("template.callTitle")}><div class="bench-head"><h2 class="t14">${i18n$t("template.callTitle")}</h2><span class="push"></span><${ui_base$Button} icon="x" kind="quiet" label=${i18n$t("ui.close")} onClick=${close} /></div>
	<div class="bench-pad stack">${!published&&lib_core$html`<${ui_base$Notice} kind="warn">${i18n$t("template.draftText")}. ${i18n$t("template.callText")}<//>`}<div class="wide"><${ui_base$Code} name=${i18n$t("template.language")} tabs=${languages} at=${language} onTab=${setLanguage} code=${call(language,location.origin,body2)} /></div></div></section>`}import{template_variables$Variables,template_variables$standIns}from"./shared.js";import{templates$duplicateTemplate,templates$removeTemplate}from"./shared.js";import{ui_float$DialogBody,ui_float$Menu,ui_float$attempt,ui_float$dialog,ui_float$toast}from"./app.js";import{ui_frame$Paper}from"./app.js";import{test_data$keepTestData,test_data$testData,test_data$withMembers}from"./shared.js";import{variables$builtIn}from"./shared.js";import{variants$variantsOf}from"./app.js";import{visual$partOf,visual$parts}from"./shared.js";function TemplatePage({params}){let{data,error,reload}=api$useGet(paths$encoded`/templates/${params.id}`),path=[[i18n$t("templates.title"),`${router$base}/templates`]];return error&&!data?lib_core$html`<${ui_base$Head} title=${i18n$t("template.title")} path=${path} /><${ui_base$Failed} error=${error} retry=${reload} />`:data?lib_core$html`<${Draft} key=${data.id} of=${data} path=${path} />`:lib_core$html`<${ui_base$Head} title=${i18n$t("template.title")} path=${path} /><${ui_base$Bones} />`}var translated=["subject","html"];function body(changed,value,base){let out={...changed,..."html"in changed&&value.design?{design:value.design}:{}};out.variants&&(out.variants=variants$variantsOf(out.variants,base.variants,["subject","html","text","design"]));for(let name of["alias","from","subject","design"])out[name]===""&&(out[name]=null);for(let name of["html","name"])name in out&&!out[name].trim()&&delete out[name];return out.variables&&(out.variables=out.variables.filter(v=>v.key).map(({key,type,fallback_value:fallback})=>({key,type,...fallback==null||fallback===""?{}:{fallback_value:type==="number"?Number(fallback):String(fallback)}}))),out.variables?.length===0&&(out.variables=null),out}function Draft({of,path}){let draft=drafts$useDraft({id:of.id,path:paths$encoded`/templates/${of.id}`,server:of,revision:answer=>answer.current_version_id,body}),{value}=draft,[side,setSide]=lib_core$useState("preview"),[chosen,setAt]=lib_core$useState(""),at=value.variants?.[chosen]?chosen:"",mine=languages$inLanguage(draft,at),[values,put]=lib_core$useState(()=>test_data$testData(of.id)),setValues=now=>{put(now),test_data$keepTestData(of.id,now)},[state,setState]=lib_core$useState({status:of.status,unpublished:of.has_unpublished_versions});lib_core$useEffect(()=>{draft.answer&&setState({status:draft.answer.status,unpublished:draft.answer.has_unpublished_versions})},[draft.answer]);let typed=lib_core$useMemo(()=>template_variables$standIns(value.variables??[],values),[value.variables,values]),asked=lib_core$useRef({});draft.unsaved||(asked.current={variables:typed,...at?{language:at}:{}});let publish=()=>ui_float$attempt(async()=>{if(!await draft.save())return;let answer=await api$api.post(paths$encoded`/templates/${of.id}/publish`);setState({status:answer.status,unpublished:answer.has_unpublished_versions}),ui_float$toast(i18n$t("template.publishedText"))}),clean=state.status==="published"&&!state.unpublished&&!draft.unsaved;return lib_core$html`<${ui_base$Head} title=${value.name} path=${path} note=${lib_core$html`<${ui_base$Status} of=${state.status} word=${state.status==="published"&&!clean?i18n$t("template.unpublished"):void 0} /><${drafts$Saved} draft=${draft} />`}>
		<${ui_float$Menu} label=${i18n$t("ui.acts")} items=${[{icon:"globe",name:i18n$t("languages.add"),run:()=>languages$addLanguage(draft,setAt)},{icon:"code",name:i18n$t("template.call"),run:()=>setSide("call")},{icon:"history",name:i18n$t("composer.versions"),run:()=>setSide("versions")},{icon:"copy",name:i18n$t("template.duplicate"),run:()=>templates$duplicateTemplate(of.id)},{icon:"trash",name:i18n$t("template.delete"),danger:true,run:async()=>await templates$removeTemplate(value)&&router$go("/templates",{replace:true})}]} />
		<${ui_base$Button} icon="mail" onClick=${async()=>await draft.save()&&ui_float$dialog(close=>lib_core$html`<${Test} of=${value} language=${at} values=${typed} close=${close} />`)}>${i18n$t("template.test")}<//>
		<${ui_base$Button} kind="primary" disabled=${clean} onClick=${publish}>${i18n$t(clean?"template.published":"template.publish")}<//><//>
	<${drafts$Left} draft=${draft} />
	<${languages$Languages} draft=${draft} at=${at} names=${translated} onChange=${setAt} />
	<${Meta} draft=${draft} mine=${mine} />
	<div class="bench"><${Writing} draft=${mine} whole=${draft} setAt=${setAt} values=${values} setValues=${setValues} side=${side} setSide=${setSide} />
	${side==="versions"?lib_core$html`<${composer_versions$Versions} draft=${draft} fields=${["subject","html","text"]} close=${()=>setSide("preview")} />`:side==="call"?lib_core$html`<${Call} of=${value} published=${state.status==="published"} values=${typed} close=${()=>setSide("preview")} />`:lib_core$html`<${ui_frame$Paper} bench of=${paths$encoded`/templates/${of.id}/render`} body=${asked.current} stamp=${`${draft.saved} ${JSON.stringify(asked.current)}`} />`}</div>`}function Meta({draft,mine}){let{value}=mine,varies=name=>mine.language&&translated.includes(name),line=(name,more={})=>lib_core$html`<dt><label for=${`t-${name}`}>${i18n$t(`template.${name}`)}</label></dt><dd><input class=${`input ${more.mono?"mono":""}`} id=${`t-${name}`} value=${value[name]??""} aria-invalid=${more.needed&&!value[name]?.trim()?"true":void 0} placeholder=${varies(name)&&draft.value[name]||more.hint} onInput=${e=>mine.change({[name]:e.currentTarget.value||(varies(name)?null:"")})} />
		${more.needed&&!value[name]?.trim()&&lib_core$html`<span class="note bad" role="alert">${i18n$t("composer.needed")}</span>`}</dd>`;return lib_core$html`<dl class="meta">${line("name",{needed:true})}${line("alias",{mono:true,hint:i18n$t("templates.aliasHint")})}${line("from",{hint:i18n$t("template.optional")})}${line("subject",{hint:i18n$t("template.optional")})}</dl>`}function Writing({draft,whole,setAt,values,setValues,side,setSide}){let{value}=draft,[chosen,setPart]=lib_core$useState(null),part=visual$partOf(value,chosen),editor=lib_core$useRef(null),names=lib_core$useMemo(()=>[...variables$builtIn,...(value.variables??[]).map(v=>v.key)],[value.variables]),declared=lib_core$useMemo(()=>test_data$withMembers(value.variables??[],values).map(({fallback_value:fallback,...v})=>({...v,detail:fallback==null?"":i18n$t("editor.else",{text:fallback})})),[value.variables,values]),known=lib_core$useMemo(()=>[...declared.filter(({name,type})=>!name.includes(".")&&(type==="string"||type==="number")),...variables$builtIn.map(name=>({name,type:"string"}))],[declared]);return lib_core$html`<section aria-label=${part==="visual"?i18n$t("visual.title"):i18n$t(`composer.${part}`)}><div class="bench-head"><${ui_base$Seg} label=${i18n$t("composer.part")} value=${part} onChange=${setPart} options=${visual$parts(value)} />${part==="html"&&lib_core$html`<${image_library$InsertImage} editor=${editor} />`}<span class="push"></span>
		<${ui_base$Button} kind="quiet" icon="code" aria-pressed=${String(side==="call")} onClick=${()=>setSide(side==="call"?"preview":"call")}>${i18n$t("template.call")}<//>
		<${ui_base$Button} kind="quiet" icon="history" aria-pressed=${String(side==="versions")} onClick=${()=>setSide(side==="versions"?"preview":"versions")}>${i18n$t("composer.versions")}<//></div>
	<${composer$Part} draft=${draft} part=${part} setPart=${setPart} editor=${editor} known=${known} liquid=${declared} names=${names} kind="variable" mended />
	<${composer$Refused} draft=${whole} at=${draft.language} part=${part} editor=${editor} show=${place=>{setAt(place.language),setPart(place.field==="text"?"text":"html")}} />
	<${image_library$Weight} value=${value} /><${convert$Convert} draft=${whole} />
	<${template_variables$Variables} draft=${draft} values=${values} setValues=${setValues} /></section>`}function Test({of,language,values,close}){let[to,setTo]=lib_core$useState(state$me.value?.email??""),[from,setFrom]=lib_core$useState(of.from??""),[wrong,setWrong]=lib_core$useState(""),send=async()=>{try{let made=await api$api.read(paths$encoded`/templates/${of.id}/render`,{variables:values,...language?{language}:{}}),sent=await api$api.post("/emails",{from,to:to.split(/[\s,;]+/).filter(Boolean),subject:made.subject??of.name,html:made.html,text:made.text});close(),ui_float$toast(i18n$t("composer.testSent",{n:1}),{href:router$base+paths$encoded`/emails/${sent.id}`,word:i18n$t("composer.testSee")})}catch(e){if(!(e instanceof api$ApiError))throw e;setWrong(e.message)}};return lib_core$html`<${ui_float$DialogBody} title=${i18n$t("template.test")} onSubmit=${send} acts=${lib_core$html`<${ui_base$Button} onClick=${()=>close()}>${i18n$t("ui.cancel")}<//><${ui_base$Button} type="submit" kind="primary" disabled=${!from.trim()||!to.trim()}>${i18n$t("template.testAct")}<//>`}>
		<${ui_base$Input} label=${i18n$t("template.from")} value=${from} onInput=${setFrom} /><${ui_base$Input} label=${i18n$t("template.testTo")} hint=${i18n$t("template.testHint")} value=${to} onInput=${setTo} error=${wrong} autofocus /><//>`}export{TemplatePage as default};
