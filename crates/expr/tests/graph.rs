//! The graph of expressions as a compiler outside of the crate reads it: integer arithmetic translated node by node gives
//! what `evaluate` gives, each distinct part once.

use expr::Program;
use expr::graph::{Fails, Graph, Operation};
use plan::{Arithmetic, Expr, ExprKind};
use types::{Type, Value};
use vector::{Batch, Vector};

/// An instruction writes the register of its node from those before it.
type Instruction = Box<dyn Fn(&[i64], &[i64]) -> i64>;

/// One instruction a node; `None` where a node is something else than integer arithmetic.
fn translated(graph: &Graph) -> Option<Vec<Instruction>> {
    let mut code: Vec<Instruction> = Vec::with_capacity(graph.len());
    for id in 0..graph.len() {
        let node = graph.node(id);
        assert!(node.operands.iter().all(|operand| *operand < id), "operands stand before users");
        code.push(match (&node.operation, node.operands.as_slice()) {
            (Operation::Input(column), []) => {
                let column = *column;
                Box::new(move |row, _| row[column])
            }
            (Operation::Literal(value), []) => {
                let value = value.as_i64()?;
                Box::new(move |_, _| value)
            }
            (Operation::Negate, [of]) => {
                let of = *of;
                Box::new(move |_, registers| -registers[of])
            }
            (Operation::Arithmetic { op, .. }, [left, right]) => {
                let (left, right) = (*left, *right);
                let compute: fn(i64, i64) -> i64 = match op {
                    Arithmetic::Add => |a, b| a + b,
                    Arithmetic::Subtract => |a, b| a - b,
                    Arithmetic::Multiply => |a, b| a * b,
                    _ => return None,
                };
                Box::new(move |_, registers| compute(registers[left], registers[right]))
            }
            _ => return None,
        });
    }
    Some(code)
}

fn arithmetic(op: Arithmetic, left: Expr, right: Expr) -> Expr {
    let (left, right) = (Box::new(left), Box::new(right));
    Expr::new(ExprKind::Arithmetic { op, left, right, checked: true }, Type::BigInt)
}

#[test]
fn a_compiler_outside_reads_the_graph() {
    let column = |at: usize| Expr::new(ExprKind::Input(at), Type::BigInt);
    let sum = arithmetic(Arithmetic::Add, column(0), column(1));
    let square = arithmetic(Arithmetic::Multiply, sum.clone(), sum.clone());
    let less = arithmetic(Arithmetic::Subtract, square.clone(), Expr::literal(Value::I64(7), Type::BigInt));
    let program = Program::compile(&[square, less, sum]).unwrap();
    let graph = program.graph();
    // Two inputs, a literal, a sum, its square, and a difference.
    assert_eq!((graph.len(), program.results().len()), (6, 3));
    assert!(program.results().iter().all(|id| graph.node(*id).fails == Fails::Rarely));

    let columns: [Vec<i64>; 2] = [vec![1, -2, 3, 40], vec![10, 20, -30, 2]];
    let code = translated(graph).unwrap();
    let batch =
        Batch::new(columns.iter().map(|values| Vector::from_i64(Type::BigInt, values.clone())).collect(), 4);
    let expected = program.evaluate(&batch).unwrap();
    for at in 0..4 {
        let row = [columns[0][at], columns[1][at]];
        let mut registers: Vec<i64> = Vec::with_capacity(code.len());
        for instruction in &code {
            let value = instruction(&row, &registers);
            registers.push(value);
        }
        for (result, vector) in program.results().iter().zip(&expected) {
            assert_eq!(Value::I64(registers[*result]), vector.value(at), "row {at}");
        }
    }

    let quotient = arithmetic(Arithmetic::Divide, column(0), column(1));
    let program = Program::compile(&[quotient]).unwrap();
    assert!(
        translated(program.graph()).is_none()
            && program.graph().node(program.results()[0]).fails == Fails::Maybe
    );
}
