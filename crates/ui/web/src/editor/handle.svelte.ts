// The editor that is shown, for those who put something into it or lead to a place in it.
import type { EditorView } from "@codemirror/view";

class Handle {
  view: EditorView | null = null;

  /** Puts a text in the cursor's place. */
  insert(text: string) {
    if (!this.view) return;
    this.view.dispatch(this.view.state.replaceSelection(text));
    this.view.focus();
  }

  show(from: number) {
    if (!this.view) return;
    this.view.dispatch({ selection: { anchor: Math.min(from, this.view.state.doc.length) }, scrollIntoView: true });
    this.view.focus();
  }
}

export const editorHandle = new Handle();
