import{teams$TeamsSections,teams$default}from"./shared.js";export{teams$TeamsSections as TeamsSections,teams$default as default};
