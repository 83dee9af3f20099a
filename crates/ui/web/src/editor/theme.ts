// Colours of the editor. It stands in a shadow root, because only there does CodeMirror put its styles into constructed
// style sheets, which the content security policy allows; custom properties reach through.
import { HighlightStyle } from "@codemirror/language";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

export const theme = EditorView.theme({
  "&": { height: "100%", fontSize: "13px", color: "var(--ink)", backgroundColor: "var(--bg)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55" },
  ".cm-content": { padding: "8px 0", caretColor: "var(--accent)" },
  ".cm-cursor": { borderLeftColor: "var(--accent)", borderLeftWidth: "2px" },
  ".cm-gutters": { backgroundColor: "var(--bg)", color: "var(--muted)", border: "none" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "transparent" },
  ".cm-activeLineGutter": { color: "var(--ink)" },
  ".cm-line": { padding: "0 12px 0 9px", borderLeft: "2px solid transparent" },
  ".cm-line.cm-here": { borderLeftColor: "var(--accent)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "light-dark(#cfdcfb, #34457a) !important" },
  ".cm-matchingBracket": { backgroundColor: "var(--accent-soft) !important", outline: "1px solid var(--accent)" },
  ".cm-tooltip": { backgroundColor: "var(--raised)", color: "var(--ink)", border: "1px solid var(--line)", borderRadius: "6px", boxShadow: "0 6px 20px rgb(0 0 0 / 0.18)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", fontSize: "12.5px", maxHeight: "260px", padding: "4px" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "2px 8px", borderRadius: "4px", display: "flex", gap: "8px", alignItems: "center" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent-soft)", color: "var(--ink)" },
  ".cm-completionMatchedText": { textDecoration: "none", color: "var(--accent)", fontWeight: "700" },
  ".cm-completionDetail": { marginLeft: "auto", paddingLeft: "20px", color: "var(--muted)", fontStyle: "normal", fontSize: "11.5px" },
  ".cm-completionIcon": { width: "14px", opacity: "1", color: "var(--muted)", paddingRight: "0" },
  ".cm-completionIcon-table::after": { content: "'▦'" },
  ".cm-completionIcon-column::after": { content: "'▪'" },
  ".cm-completionIcon-setting::after": { content: "'⚙'" },
  ".cm-diagnostic": { padding: "6px 10px", fontFamily: "var(--sans)", fontSize: "12.5px", maxWidth: "480px" },
  ".cm-diagnostic-error": { borderLeft: "3px solid var(--bad)" },
  ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--bad) 1.5px", textUnderlineOffset: "3px", textDecorationSkipInk: "none" },
  ".cm-lint-marker-error": { content: "''", width: "8px", height: "8px", margin: "5px 0 0 4px", borderRadius: "50%", backgroundColor: "var(--bad)" },
  ".cm-hint": { color: "var(--muted)" },
  ".cm-panels": { backgroundColor: "var(--panel)", color: "var(--ink)" },
  ".cm-panels.cm-panels-bottom": { borderTop: "1px solid var(--line)" },
  ".cm-textfield, .cm-button": { backgroundColor: "var(--raised)", backgroundImage: "none", border: "1px solid var(--line)", borderRadius: "5px", color: "var(--ink)" },
  ".cm-searchMatch": { backgroundColor: "light-dark(#ffe7a3, #5e4a12)" },
  ".cm-placeholder": { color: "var(--muted)" },
});

export const highlight = HighlightStyle.define([
  { tag: tags.keyword, color: "light-dark(#2b4bb8, #93abff)", fontWeight: "600" },
  { tag: [tags.string, tags.special(tags.string)], color: "light-dark(#176c45, #7cd3a5)" },
  { tag: [tags.number, tags.bool, tags.null], color: "light-dark(#96480f, #f0a774)" },
  { tag: [tags.lineComment, tags.blockComment], color: "light-dark(#5f6a78, #8f9bab)", fontStyle: "italic" },
  { tag: [tags.typeName, tags.standard(tags.name)], color: "light-dark(#7a3291, #d2a0e4)" },
  { tag: tags.operator, color: "light-dark(#4c5664, #b3bdca)" },
]);
